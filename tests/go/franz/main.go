// franz ADDRESS TOPIC GROUP: plain records, transactions, and a group that reads them, with franz-go.
//
// Prints the values that the group has read, one a line, in the order in which each partition has them. With TRUST in the
// environment it speaks TLS, and with MECHANISM, LOGIN and PASSWORD it logs in.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const (
	alone        = 100
	transactions = 3
	aborted      = 1
	each         = 5
	wanted       = alone + (transactions-1)*each
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

// client is one that is protected as the environment says.
func client(address string, more ...kgo.Opt) (*kgo.Client, error) {
	options := append(more, kgo.SeedBrokers(address))
	if path := os.Getenv("TRUST"); path != "" {
		pem, err := os.ReadFile(path)
		must(err)
		trust := x509.NewCertPool()
		trust.AppendCertsFromPEM(pem)
		options = append(options, kgo.DialTLSConfig(&tls.Config{RootCAs: trust, ServerName: "localhost"}))
	}
	user, password := os.Getenv("LOGIN"), os.Getenv("PASSWORD")
	switch os.Getenv("MECHANISM") {
	case "PLAIN":
		options = append(options, kgo.SASL(plain.Auth{User: user, Pass: password}.AsMechanism()))
	case "SCRAM-SHA-256":
		options = append(options, kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		options = append(options, kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha512Mechanism()))
	}
	return kgo.NewClient(options...)
}

func produce(ctx context.Context, address, topic string) error {
	client, err := client(address, kgo.DefaultProduceTopic(topic))
	if err != nil {
		return err
	}
	defer client.Close()
	for number := range alone {
		client.Produce(ctx, value("plain-%d", number), func(_ *kgo.Record, err error) { must(err) })
	}
	return client.Flush(ctx)
}

func transact(ctx context.Context, address, topic string) error {
	client, err := client(address, kgo.DefaultProduceTopic(topic), kgo.TransactionalID(topic))
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
	client, err := client(
		address, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
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
