import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Account, decode } from '@nats-io/jwt'
import { connect, credsAuthenticator } from '@nats-io/transport-node'
import { afterAll, expect, test } from 'vitest'
import { type CellId, newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { gatewayAccount, SERVER_SIDE_PERMISSIONS } from '#gateway/bus/accounts.ts'
import { createCellAccount } from '#gateway/bus/create-cell-account.ts'
import { issueCredentials } from '#gateway/bus/issue-credentials.ts'
import { pushAccount } from '#gateway/bus/push-account.ts'
import { connectSystem } from './nats/connect-system.ts'
import { gatewayAccountFile } from './nats/gateway-account.ts'
import { natsConfig } from './nats/nats-config.ts'
import { keyPair, natsKeys } from './nats/nats-keys.ts'
import { startNats, stopNats } from './nats.ts'
import { findProgram } from './process/find-program.ts'
import { freePort } from './process/free-port.ts'
import { startProcess } from './process/start-process.ts'
import { stopProcess } from './process/stop-process.ts'
import { writeFileAtomically } from './process/write-file-atomically.ts'

const READY_MS = 30_000

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

test('a server that was given the account of gateways keeps what they have pushed, over a restart', async () => {
  const home = mkdtempSync(join(tmpdir(), 'weir-nats-known-'))
  await using owned = new AsyncDisposableStack()
  owned.defer(() => rmSync(home, { recursive: true }))
  const keys = natsKeys(home)
  const port = await freePort()
  const ports = { port, leafPort: await freePort() }
  writeFileAtomically(`${home}/nats.conf`, await natsConfig(home, ports, keys))
  const given = await gatewayAccountFile(keys)
  mkdirSync(`${home}/accounts`)
  writeFileAtomically(join(home, given.name), given.content)
  const start = async () => {
    const identity = await startProcess({
      command: findProgram('nats-server'),
      args: ['-c', `${home}/nats.conf`],
      env: { PATH: process.env['PATH'] },
      directory: home,
      logFile: `${home}/nats.log`,
      lifetime: 'with-parent',
    })
    owned.defer(() => stopProcess(identity))
    const url = `nats://127.0.0.1:${port}`
    const isReady = async () => {
      await (await connectSystem(url, keys.systemSeed)).close()
      return true
    }
    await waitFor('NATS to accept connections', isReady, READY_MS)
    return { identity, system: await connectSystem(url, keys.systemSeed) }
  }
  const gatewayKey = keyPair(keys.gatewaySeed).getPublicKey()
  const kept = () => {
    const [jwt = ''] = readdirSync(`${home}/accounts`, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith(`${gatewayKey}.jwt`))
      .map((name) => readFileSync(join(home, 'accounts', name), 'utf8'))
    return decode<Account>(jwt).nats.imports?.length ?? 0
  }
  const cellId = newId<CellId>()
  const account = gatewayAccount([{ ...(await createCellAccount(cellId, gatewayKey)), cellId }])

  const first = await start()
  expect(kept()).toBe(0)
  const { operatorSeed } = keys
  const push = () =>
    pushAccount({ system: first.system, operatorSeed }, 'gateway', gatewayKey, account)
  // Claims have the second in which they were signed.
  await expect.poll(() => push().then(kept)).toBe(2)
  await first.system.close()
  await stopProcess(first.identity)
  const second = await start()
  await second.system.close()

  expect(kept()).toBe(2)
})
