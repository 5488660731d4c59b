#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints FlowMessages as JSON lines, decoded by the classes that protoc has made of goflow2's schema and of ours.

    flow_message_reader.py CLASSES MESSAGES     CLASSES: the folder with flow_pb2.py and tributary_flow_pb2.py

Debian's interpreter has protobuf. Octets are printed in hexadecimal; a line has two objects, by the two schemas, each with
the fields that are in the message.
"""
import json
import sys

sys.path.insert(0, sys.argv[1])
import flow_pb2  # noqa: E402  (made at test time)
import tributary_flow_pb2  # noqa: E402


def messages(octets):
    at = 0
    while at < len(octets):
        length, shift = 0, 0
        while True:
            octet = octets[at]
            at += 1
            length |= (octet & 0x7F) << shift
            shift += 7
            if octet < 0x80:
                break
        yield octets[at:at + length]
        at += length


def plain(value):
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, (int, str)) else list(value)


def fields(message, octets):
    message.ParseFromString(octets)
    return {descriptor.name: plain(value) for descriptor, value in message.ListFields()}


with open(sys.argv[2], "rb") as source:
    for each in messages(source.read()):
        print(json.dumps([fields(flow_pb2.FlowMessage(), each), fields(tributary_flow_pb2.TributaryFlow(), each)]))
