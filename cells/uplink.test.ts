import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { createLogger } from '#common/log.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { openUplink } from './uplink.ts'

const stack: WebSocketServer[] = []

afterEach(() => {
  for (const server of stack.splice(0)) {
    for (const socket of server.clients) socket.terminate()
    server.close()
  }
})

/** A gateway that says its name over each connection to its bus. */
async function gateway(name: string): Promise<string> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  server.on('connection', (socket) => socket.send(name))
  await once(server, 'listening')
  stack.push(server)
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/bus/leaf`
}

/** What the bus of the cell hears when it dials; empty where the connection ends first. */
async function receive(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const [received] = await Promise.race([
    once(socket, 'data'),
    once(socket, 'close').then(() => ['']),
  ])
  socket.destroy()
  return String(received)
}

test('the bus of a cell reaches another gateway where one is down', async () => {
  const down = `ws://127.0.0.1:${await freePort()}/bus/leaf`
  const url = [await gateway('one'), down, await gateway('two')].join(',')
  const port = await freePort()
  await using _uplink = await openUplink({ url, port }, createLogger('test', 'silent'))

  const answers = []
  for (let nth = 0; nth < 4; nth += 1) answers.push(await receive(port))

  expect(answers).toEqual(['one', 'two', 'two', 'one'])
})
