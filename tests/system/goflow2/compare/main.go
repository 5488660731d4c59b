// SPDX-License-Identifier: Apache-2.0

// Compares FlowMessages with those that goflow2 itself makes of the same records as IPFIX: see flow_messages.py.
//
//	compare IPFIX MESSAGES
//
// What goflow2 takes from the datagram and not from the record is left out of the comparison.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"

	"github.com/netsampler/goflow2/v2/decoders/netflow"
	flowmessage "github.com/netsampler/goflow2/v2/pb"
	protoproducer "github.com/netsampler/goflow2/v2/producer/proto"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

func ofRecord(message *flowmessage.FlowMessage) *flowmessage.FlowMessage {
	message.TimeReceivedNs, message.SequenceNum, message.SamplingRate, message.SamplerAddress = 0, 0, 0, nil
	message.ProtoReflect().SetUnknown(nil)
	return message
}

// Those of an IPFIX file: messages one behind the other.
func fromIpfix(octets []byte) ([]*flowmessage.FlowMessage, error) {
	const lengthAt = 2
	var all []*flowmessage.FlowMessage
	templates := netflow.CreateTemplateSystem()
	for len(octets) > 0 {
		length := binary.BigEndian.Uint16(octets[lengthAt:])
		var ipfix netflow.IPFIXPacket
		var v9 netflow.NFv9Packet
		if err := netflow.DecodeMessageVersion(bytes.NewBuffer(octets[:length:length]), templates, &v9, &ipfix); err != nil {
			return nil, err
		}
		octets = octets[length:]
		made, err := protoproducer.ProcessMessageIPFIXConfig(&ipfix, nil, nil)
		if err != nil {
			return nil, err
		}
		for _, each := range made {
			copied := proto.Clone(&each.(*protoproducer.ProtoProducerMessage).FlowMessage)
			all = append(all, ofRecord(copied.(*flowmessage.FlowMessage)))
		}
	}
	return all, nil
}

func run(ipfixPath, messagesPath string) error {
	octets, err := os.ReadFile(ipfixPath)
	if err != nil {
		return err
	}
	expected, err := fromIpfix(octets)
	if err != nil {
		return err
	}
	file, err := os.Open(messagesPath)
	if err != nil {
		return err
	}
	defer file.Close()
	reader := bufio.NewReader(file)
	for number, want := range expected {
		var got flowmessage.FlowMessage
		if err := protodelim.UnmarshalFrom(reader, &got); err != nil {
			return fmt.Errorf("message %d: %w", number, err)
		}
		if !proto.Equal(want, ofRecord(&got)) {
			return fmt.Errorf("message %d:\n%s\ngoflow2's:\n%s", number, prototext.Format(&got), prototext.Format(want))
		}
	}
	if _, err := reader.ReadByte(); err == nil {
		return fmt.Errorf("there are more than %d messages", len(expected))
	}
	fmt.Println(len(expected))
	return nil
}

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
