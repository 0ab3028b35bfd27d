// kafkajs.js ADDRESS TOPIC GROUP: plain records, transactions, and a group that reads them, with kafkajs.
//
// Prints the values that the group has read, one a line, in the order in which each partition has them.
"use strict";

const { Kafka, logLevel } = require("kafkajs");

const PLAIN = 100;
const TRANSACTIONS = 3;
const ABORTED = 1;
const EACH = 5;
const WANTED = PLAIN + (TRANSACTIONS - 1) * EACH;
const WAIT_MS = 50_000;

const [address, topic, group] = process.argv.slice(2);
const kafka = new Kafka({ brokers: [address], logLevel: logLevel.NOTHING });

const range = (count) => Array.from({ length: count }, (_, number) => number);

async function produce() {
  const producer = kafka.producer({ idempotent: true });
  await producer.connect();
  await producer.send({ topic, messages: range(PLAIN).map((number) => ({ value: `plain-${number}` })) });
  await producer.disconnect();
}

async function transact() {
  const producer = kafka.producer({ transactionalId: topic, idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  for (const number of range(TRANSACTIONS)) {
    const transaction = await producer.transaction();
    await transaction.send({
      topic,
      messages: range(EACH).map((one) => ({ value: `transaction-${number}-${one}` })),
    });
    await (number === ABORTED ? transaction.abort() : transaction.commit());
  }
  await producer.disconnect();
}

async function consume() {
  const consumer = kafka.consumer({ groupId: group, readUncommitted: false, maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  let count = 0;
  await new Promise((done, fail) => {
    setTimeout(() => fail(new Error(`${count} of ${WANTED} were read`)), WAIT_MS).unref();
    consumer.run({
      eachMessage: async ({ message }) => {
        console.log(message.value.toString());
        count += 1;
        if (count === WANTED) {
          done();
        }
      },
    });
  });
  await consumer.stop(); // Commits what was read.
  await consumer.disconnect();
}

produce()
  .then(transact)
  .then(consume)
  .catch((failure) => {
    console.error(failure);
    process.exit(1);
  });
