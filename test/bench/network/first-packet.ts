import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { waitFor } from '#common/wait-for.ts'
import type { Endpoint, OvnWorld } from '#test/real/ovn-world.ts'

const LIMIT_MS = 60_000
const EVERY_MS = 3
/** Answers each datagram to these ports. */
const ECHO = `
const [first, count] = process.argv.slice(1).map(Number)
for (let port = first; port < first + count; port += 1) {
  const socket = require('node:dgram').createSocket('udp4')
  socket.on('message', (text, from) => socket.send(text, from.port, from.address)).bind(port)
}`
/** Sends to the port of each address until all have answered; prints when the last did, by the machine's clock. */
const ASK = `
const [port, every, started, ...addresses] = process.argv.slice(1)
const open = new Set(addresses)
const socket = require('node:dgram').createSocket('udp4')
socket.on('message', (_, { address }) => {
  open.delete(address)
  if (open.size === 0) process.stdout.write(String(process.hrtime.bigint()), () => process.exit())
})
setInterval(() => { for (const each of open) socket.send('?', Number(port), each) }, Number(every))
require('node:fs').writeFileSync(started, '')`

interface Answering {
  readonly endpoint: Endpoint
  readonly address: string
}

/** Afterwards datagrams to these ports are answered, where they arrive. */
export async function answerOn(
  { endpoint }: Answering,
  first: number,
  count: number,
): Promise<void> {
  const command = '"$0" -e "$1" "$2" "$3" >/dev/null 2>&1 &'
  const script = [process.execPath, ECHO, String(first), String(count)]
  await endpoint.run('sh', '-c', command, ...script)
}

/** How long after `change` began the first datagrams to the port came through to all of these, in milliseconds. */
export async function untilAnswered(
  { directory }: OvnWorld,
  { from, to, port }: { from: Endpoint; to: readonly Answering[]; port: number },
  change: () => Promise<void>,
): Promise<number> {
  const started = join(directory, `asking-${port}`)
  const options = [String(port), String(EVERY_MS), started]
  const addresses = to.map(({ address }) => address)
  const asked = from.run(process.execPath, '-e', ASK, ...options, ...addresses)
  const isStarted = () =>
    access(started).then(
      () => true,
      () => false,
    )
  await waitFor('the first datagrams', isStarted, LIMIT_MS)
  const begun = process.hrtime.bigint()
  const [answered] = await Promise.all([asked, change()])
  return Number(BigInt(answered) - begun) / 1e6
}
