import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, credsAuthenticator } from '@nats-io/transport-node'
import { afterAll, expect, test } from 'vitest'
import { gatewayAccount, SERVER_SIDE_PERMISSIONS } from '#gateway/bus/accounts.ts'
import { issueCredentials } from '#gateway/bus/issue-credentials.ts'
import { pushAccount } from '#gateway/bus/push-account.ts'
import { connectSystem } from './nats/connect-system.ts'
import { natsConfig } from './nats/nats-config.ts'
import { keyPair, natsKeys } from './nats/nats-keys.ts'
import { startNats, stopNats } from './nats.ts'
import { freePort } from './process/free-port.ts'

const directory = mkdtempSync(join(tmpdir(), 'weir-nats-'))

afterAll(async () => {
  await stopNats(directory)
  rmSync(directory, { recursive: true })
})

test('startNats() remembers port, keys and pushed accounts over a restart', async () => {
  const first = await startNats(directory, 'with-parent')
  const { operatorSeed, systemSeed, gatewaySeed } = first.keys
  const nobody = `nats://127.0.0.1:${await freePort()}`
  const system = await connectSystem(`${nobody},${first.url}`, systemSeed)
  const gatewayKey = keyPair(gatewaySeed).getPublicKey()
  await pushAccount({ system, operatorSeed }, 'gateway', gatewayKey, gatewayAccount([]))
  await system.close()
  const credentials = await issueCredentials('gateway', gatewaySeed, SERVER_SIDE_PERMISSIONS)
  await stopNats(directory)

  const second = await startNats(directory, 'with-parent')

  expect(second.port).toBe(first.port)
  expect(second.process).not.toEqual(first.process)
  const gateway = await connect({
    servers: second.url,
    authenticator: credsAuthenticator(new TextEncoder().encode(credentials)),
    reconnect: false,
  })
  await gateway.flush()
  await gateway.close()
})

test('startNats() leaves a running server as it is', async () => {
  const [first, second] = [
    await startNats(directory, 'with-parent'),
    await startNats(directory, 'with-parent'),
  ]

  expect(second.process).toEqual(first.process)
})

test('startNats() keeps its keys from other users', () => {
  const files = ['operator.nk', 'system-account.nk', 'gateway-account.nk']

  expect(files.map((file) => statSync(join(directory, file)).mode & 0o777)).toEqual([
    0o600, 0o600, 0o600,
  ])
})

test('a client without credentials is refused', async () => {
  const { url } = await startNats(directory, 'with-parent')

  await expect(connect({ servers: url, reconnect: false })).rejects.toThrow(/authorization/i)
})

test('it listens on loopback alone, and has neither WebSockets nor JetStream', async () => {
  const keys = natsKeys(mkdtempSync(join(tmpdir(), 'weir-nats-')))
  const text = await natsConfig('/nowhere', { port: 1, leafPort: 2 }, keys)

  const hosts = [...text.matchAll(/host: "(?<host>[^"]+)"/g)].map(({ groups }) => groups?.['host'])
  expect(hosts).toEqual(['127.0.0.1', '127.0.0.1'])
  expect(text).not.toMatch(/websocket|jetstream|http|mqtt|gateway \{|cluster \{/)
})
