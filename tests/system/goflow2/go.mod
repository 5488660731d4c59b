module compare

go 1.23.0

require github.com/netsampler/goflow2/v2 v2.2.6
