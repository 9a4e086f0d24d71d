import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, credsAuthenticator } from '@nats-io/transport-node'
import { afterEach, expect, test } from 'vitest'
import { encryptionTo } from '#common/bus/encryption.ts'
import { gatewayAccount, SERVER_SIDE_PERMISSIONS } from '#gateway/bus/accounts.ts'
import { issueCredentials } from '#gateway/bus/issue-credentials.ts'
import { pushAccount } from '#gateway/bus/push-account.ts'
import { type BusCluster, startBusCluster } from '#test/env/bus-cluster.ts'
import { makeCertificate, trust } from '#test/env/certificate.ts'
import { startNats, stopNats } from '../nats.ts'
import { freePort } from '../process/free-port.ts'
import { connectSystem } from './connect-system.ts'
import { keyPair, natsKeys, takeKeys } from './nats-keys.ts'

// Goal: servers with the keys of one bus are one bus, and let no other server in. Real nats-server.

/** Twice the time in which a server asks the others. */
const LEARNT_MS = 20_000

const directories: string[] = []

afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true })
})

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'weir-cluster-'))
  directories.push(directory)
  return directory
}

async function push(cluster: BusCluster): Promise<void> {
  const { operatorSeed, systemSeed, gatewaySeed } = cluster.keys
  const system = await connectSystem(cluster.url, systemSeed)
  const key = keyPair(gatewaySeed).getPublicKey()
  await pushAccount({ system, operatorSeed }, 'gateway', key, gatewayAccount([]))
  await system.close()
}

/** True where this server takes the gateways' credential. */
async function admits(cluster: BusCluster, place: number): Promise<boolean> {
  const seed = cluster.keys.gatewaySeed
  const credentials = await issueCredentials('gateway', seed, SERVER_SIDE_PERMISSIONS)
  const authenticator = credsAuthenticator(new TextEncoder().encode(credentials))
  try {
    const servers = [cluster.urlOf(place)]
    const options = { servers, authenticator, reconnect: false, ...encryptionTo(servers) }
    const nats = await connect(options)
    await nats.close()
    return true
  } catch {
    return false
  }
}

test('an account that one server was given is known to all, and soon to one that was down', async () => {
  await using cluster = await startBusCluster(scratch())
  await cluster.kill(2)

  await push(cluster)

  await expect.poll(() => admits(cluster, 0)).toBe(true)
  await expect.poll(() => admits(cluster, 1)).toBe(true)
  await cluster.start(2)
  await expect.poll(() => admits(cluster, 2), { timeout: LEARNT_MS }).toBe(true)
})

test('a server that has other keys is not let in, though it names the cluster', async () => {
  await using cluster = await startBusCluster(scratch())
  const stranger = join(scratch(), 'stranger')
  const address = '127.0.0.1'
  const own = { address, port: await freePort(), leafPort: 0, routePort: await freePort() }
  const members = [{ ...own, leafPort: await freePort() }, ...cluster.members]

  const alone = await startNats(stranger, 'with-parent', { cluster: { members, own: 0 } })

  try {
    const system = await connectSystem(alone.url, alone.keys.systemSeed)
    const answers = await system.requestMany('$SYS.REQ.SERVER.PING', '', {
      strategy: 'timer',
      maxWait: 3_000,
    })
    let servers = 0
    for await (const _ of answers) servers += 1
    expect(servers).toBe(1)
    await system.close()
    await cluster.waitForRoutes(0, 2)
  } finally {
    await stopNats(stranger)
  }
})

test('servers encrypt what passes between them and to programs, which know them by their certificate', async () => {
  const directory = scratch()
  const tls = makeCertificate(directory)
  using trusted = trust(tls)
  await using cluster = await startBusCluster(directory, tls)

  await push(cluster)
  await expect.poll(() => admits(cluster, 2)).toBe(true)

  trusted[Symbol.dispose]()
  await expect(connectSystem(cluster.url, cluster.keys.systemSeed)).rejects.toThrow(/certificate/)
})

test('the keys of a bus are not replaced by those of another', () => {
  const [one, other] = [scratch(), scratch()]
  const keys = natsKeys(one)
  takeKeys(other, keys)
  takeKeys(other, keys)

  expect(natsKeys(other)).toEqual(keys)
  expect(() => takeKeys(one, natsKeys(scratch()))).toThrow('is a key of another bus')
})
