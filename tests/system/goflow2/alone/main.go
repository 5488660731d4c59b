// SPDX-License-Identifier: Apache-2.0

// Reads IPFIX messages with goflow2's decoder, which is Akvorado's too, each of them as the first of its sender: it must
// have its templates with it. See clickhouse_reader.py.
//
//	alone IPFIX
//
// Prints records, octets (octetDeltaCount) and packets (packetDeltaCount).
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"

	"github.com/netsampler/goflow2/v2/decoders/netflow"
)

const (
	lengthAt     = 2
	payloadAt    = 2 // the decoder is for what stands behind the version
	octetsField  = 1
	packetsField = 2
)

type sums struct {
	records, octets, packets uint64
}

func number(value any) uint64 {
	var of uint64
	for _, octet := range value.([]byte) {
		of = of<<8 | uint64(octet)
	}
	return of
}

func (all *sums) add(record netflow.DataRecord) {
	all.records++
	for _, field := range record.Values {
		switch {
		case field.PenProvided:
		case field.Type == octetsField:
			all.octets += number(field.Value)
		case field.Type == packetsField:
			all.packets += number(field.Value)
		}
	}
}

func (all *sums) addMessage(message []byte) error {
	var packet netflow.IPFIXPacket
	buffer := bytes.NewBuffer(message[payloadAt:])
	if err := netflow.DecodeMessageIPFIX(buffer, netflow.CreateTemplateSystem(), &packet); err != nil {
		return err
	}
	for _, set := range packet.FlowSets {
		switch kind := set.(type) {
		case netflow.DataFlowSet:
			for _, record := range kind.Records {
				all.add(record)
			}
		case netflow.TemplateFlowSet:
		default:
			return fmt.Errorf("a set of type %T", set)
		}
	}
	return nil
}

func run(path string) error {
	octets, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var all sums
	for at := 0; len(octets) > 0; at++ {
		length := binary.BigEndian.Uint16(octets[lengthAt:])
		if err := all.addMessage(octets[:length:length]); err != nil {
			return fmt.Errorf("message %d: %w", at, err)
		}
		octets = octets[length:]
	}
	fmt.Println(all.records, all.octets, all.packets)
	return nil
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
