// sarama ADDRESS TOPIC GROUP: plain records, transactions, and a group that reads them, with sarama.
//
// Prints the values that the group has read, one a line, in the order in which each partition has them.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
)

const (
	plain        = 100
	transactions = 3
	aborted      = 1
	each         = 5
	wanted       = plain + (transactions-1)*each
)

func main() {
	address, topic, group := []string{os.Args[1]}, os.Args[2], os.Args[3]
	must(produce(address, topic))
	must(transact(address, topic))
	must(consume(address, topic, group))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func settings() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Net.MaxOpenRequests = 1
	return config
}

func messages(topic, format string, count int, numbers ...any) []*sarama.ProducerMessage {
	var made []*sarama.ProducerMessage
	for one := range count {
		text := fmt.Sprintf(format, append(numbers, one)...)
		made = append(made, &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(text)})
	}
	return made
}

func produce(address []string, topic string) error {
	producer, err := sarama.NewSyncProducer(address, settings())
	if err != nil {
		return err
	}
	return errors.Join(producer.SendMessages(messages(topic, "plain-%d", plain)), producer.Close())
}

func transact(address []string, topic string) error {
	config := settings()
	config.Producer.Transaction.ID = topic
	producer, err := sarama.NewSyncProducer(address, config)
	if err != nil {
		return err
	}
	for number := range transactions {
		if err := producer.BeginTxn(); err != nil {
			return err
		}
		if err := producer.SendMessages(messages(topic, "transaction-%d-%d", each, number)); err != nil {
			return err
		}
		end := producer.CommitTxn
		if number == aborted {
			end = producer.AbortTxn
		}
		if err := end(); err != nil {
			return err
		}
	}
	return producer.Close()
}

// reader prints what it reads, and is done when it has read everything.
type reader struct {
	count atomic.Int32
	done  context.CancelFunc
}

func (*reader) Setup(sarama.ConsumerGroupSession) error { return nil }

func (*reader) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (r *reader) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		fmt.Println(string(message.Value))
		session.MarkMessage(message, "")
		if r.count.Add(1) == wanted {
			session.Commit()
			r.done()
		}
	}
	return nil
}

func consume(address []string, topic, group string) error {
	config := settings()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	member, err := sarama.NewConsumerGroup(address, group, config)
	if err != nil {
		return err
	}
	ctx, done := context.WithTimeout(context.Background(), 50*time.Second)
	defer done()
	reads := &reader{done: done}
	for ctx.Err() == nil {
		if err := member.Consume(ctx, []string{topic}, reads); err != nil && ctx.Err() == nil {
			return err
		}
	}
	if reads.count.Load() < wanted {
		return fmt.Errorf("%d of %d were read", reads.count.Load(), wanted)
	}
	return member.Close()
}
