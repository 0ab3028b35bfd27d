// A subscriber in another language: reads a topic from its start to where it ends now, and prints each event as JSON.
//
//     node subscribe.js PROTO HOST:PORT TOPIC
const grpc = require('@grpc/grpc-js')
const { loadSync } = require('@grpc/proto-loader')

const [proto, address, topic] = process.argv.slice(2)
const { holdfast } = grpc.loadPackageDefinition(loadSync(proto, { keepCase: true, longs: Number, defaults: true, oneofs: true }))
const client = new holdfast.subscribe.v1.Subscriptions(address, grpc.credentials.createInsecure())

const lanes = []
const stream = client.Subscribe({ sources: [{ topic }], since_ms: 0, until_now: true })
stream.on('data', (message) => {
  if (message.kind === 'opened') lanes.push(...message.opened.lanes)
  if (message.kind !== 'event') return
  const { lane, offset, key, value } = message.event
  const { partition } = lanes[lane]
  console.log(JSON.stringify({ topic, partition, offset, key: key && key.toString(), value: value.toString() }))
})
stream.on('error', (failure) => {
  console.error(failure.details)
  process.exitCode = 1
})
stream.on('end', () => client.close())
