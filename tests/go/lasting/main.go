// lasting ADDRESSES TOPIC GROUP PARTITIONS: writes and reads for as long as its input is open, with franz-go.
//
// An idempotent producer writes numbers, each to the next partition; a member of a group reads them, and commits what it
// has read. It prints "acked PARTITION OFFSET VALUE" and "read PARTITION OFFSET VALUE". When its input ends it writes no
// more, and goes on until everything that was acknowledged is read.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	pace     = 30 * time.Millisecond
	patience = 5 * time.Minute
	silence  = 3 * time.Second // So long a broker that is stopped is waited for.
)

// place is where a record is.
type place struct {
	partition int32
	offset    int64
}

// seen is what is acknowledged and not read yet, and what is printed: by one at a time.
type seen struct {
	sync.Mutex
	out  *bufio.Writer
	left map[place]bool // False: read before the producer heard of it.
}

func main() {
	addresses, topic, group := strings.Split(os.Args[1], ","), os.Args[2], os.Args[3]
	partitions, err := strconv.Atoi(os.Args[4])
	must(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	told := &seen{out: bufio.NewWriter(os.Stdout), left: map[place]bool{}}
	written := make(chan struct{})
	go func() {
		must(write(ctx, addresses, topic, partitions, told))
		close(written)
	}()
	must(read(ctx, addresses, topic, group, written, told))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func (told *seen) acked(record *kgo.Record, err error) {
	must(err)
	told.Lock()
	defer told.Unlock()
	told.note("acked", record, true)
}

func (told *seen) read(record *kgo.Record) {
	told.Lock()
	defer told.Unlock()
	told.note("read", record, false)
}

// note prints it; a place that both have told is left no more, and one that is read again was not left before.
func (told *seen) note(what string, record *kgo.Record, isAck bool) {
	fmt.Fprintln(told.out, what, record.Partition, record.Offset, string(record.Value))
	at := place{record.Partition, record.Offset}
	if before, there := told.left[at]; there && before != isAck {
		delete(told.left, at)
	} else {
		told.left[at] = isAck
	}
}

// done tells whether nothing that was acknowledged is left to be read.
func (told *seen) done() bool {
	told.Lock()
	defer told.Unlock()
	must(told.out.Flush())
	for _, isAck := range told.left {
		if isAck {
			return false
		}
	}
	return true
}

func write(ctx context.Context, addresses []string, topic string, partitions int, told *seen) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(addresses...), kgo.RequestTimeoutOverhead(silence), kgo.DefaultProduceTopic(topic),
		kgo.ProduceRequestTimeout(silence), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer client.Close()
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	for number := 0; ; number++ {
		select {
		case <-ended:
			return client.Flush(ctx)
		case <-time.After(pace):
		}
		record := kgo.StringRecord(strconv.Itoa(number))
		record.Partition = int32(number % partitions)
		client.Produce(ctx, record, told.acked)
	}
}

func read(ctx context.Context, addresses []string, topic, group string, written <-chan struct{}, told *seen) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(addresses...), kgo.RequestTimeoutOverhead(silence), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
		kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		some, cancel := context.WithTimeout(ctx, time.Second)
		fetches := client.PollFetches(some)
		cancel()
		for _, failed := range fetches.Errors() {
			if failed.Err != context.DeadlineExceeded {
				log.Println("read:", failed.Topic, failed.Partition, failed.Err)
			}
		}
		fetches.EachRecord(told.read)
		some, cancel = context.WithTimeout(ctx, 5*time.Second)
		if err := client.CommitUncommittedOffsets(some); err != nil {
			log.Println("commit:", err) // The next one covers it.
		}
		cancel()
		if err := ctx.Err(); err != nil {
			return err
		}
		select {
		case <-written:
			if told.done() {
				return nil
			}
		default:
			told.done()
		}
	}
}
