// franz ADDRESS TOPIC GROUP: plain records, transactions, and a group that reads them, with franz-go.
//
// Prints the values that the group has read, one a line, in the order in which each partition has them.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	plain        = 100
	transactions = 3
	aborted      = 1
	each         = 5
	wanted       = plain + (transactions-1)*each
)

func main() {
	address, topic, group := os.Args[1], os.Args[2], os.Args[3]
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	must(produce(ctx, address, topic))
	must(transact(ctx, address, topic))
	must(consume(ctx, address, topic, group))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func value(format string, numbers ...any) *kgo.Record {
	return kgo.StringRecord(fmt.Sprintf(format, numbers...))
}

func produce(ctx context.Context, address, topic string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic(topic))
	if err != nil {
		return err
	}
	defer client.Close()
	for number := range plain {
		client.Produce(ctx, value("plain-%d", number), func(_ *kgo.Record, err error) { must(err) })
	}
	return client.Flush(ctx)
}

func transact(ctx context.Context, address, topic string) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(address), kgo.DefaultProduceTopic(topic), kgo.TransactionalID(topic))
	if err != nil {
		return err
	}
	defer client.Close()
	for number := range transactions {
		if err := client.BeginTransaction(); err != nil {
			return err
		}
		for one := range each {
			client.Produce(ctx, value("transaction-%d-%d", number, one), func(_ *kgo.Record, err error) { must(err) })
		}
		err := client.Flush(ctx)
		if err := errors.Join(err, client.EndTransaction(ctx, kgo.TransactionEndTry(number != aborted))); err != nil {
			return err
		}
	}
	return nil
}

func consume(ctx context.Context, address, topic, group string) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(address), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.Close()
	for count := 0; count < wanted; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(record *kgo.Record) { fmt.Println(string(record.Value)) })
		count += fetches.NumRecords()
	}
	return client.CommitUncommittedOffsets(ctx)
}
