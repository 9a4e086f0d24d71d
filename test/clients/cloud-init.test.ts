import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MetadataService } from '#cells/compute/metadata/metadata-service.ts'
import { MetadataStore } from '#cells/compute/metadata/metadata-store.ts'
import { systemClock } from '#common/clock.ts'
import { type InstanceId, type NetworkId, newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { findProgram, programPath } from '#deploy/process/find-program.ts'
import { run } from '#drivers/run.ts'
import { LoopbackNetworks } from '../env/loopback-networks.ts'
import { sampleBuild } from '../env/sample-build.ts'

// Goal: cloud-init, which is in every cloud image, finds the key, the name and the user data of its guest, so that the owner can log in.

const isThere = programPath('cloud-init') !== undefined
if (!isThere && process.env['CI'] === 'true') throw new Error('cloud-init must be there in CI')
const SCRIPT = '#cloud-config\npackages: []\n'
const KEY = 'ssh-ed25519 AAAA alice'
const networkId = newId<NetworkId>()
const id = newId<InstanceId>()
const macAddress = 'fa:16:3e:00:00:01'

describe.skipIf(!isThere)('cloud-init', () => {
  const networks = new LoopbackNetworks()
  let folder: string
  let service: MetadataService

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'weir-cloud-init-'))
    const store = await MetadataStore.open(join(folder, 'metadata'))
    service = new MetadataService({
      ...{ store, guests: networks, clock: systemClock, log: createLogger('test', 'silent') },
      reportPassword: async () => {},
    })
    const ip = { address: '127.0.0.1', cidr: '127.0.0.0/8', gateway: null, dhcp: true }
    const fixedIps = [{ ...ip, dnsServers: [] }]
    const nic = { portId: newId<string>(), networkId: networkId as string, macAddress, mtu: 1442 }
    const build = sampleBuild({
      ...{ name: 'web', hostname: 'web', nics: [{ ...nic, fixedIps }] },
      keypair: { name: 'alice', type: 'ssh', publicKey: KEY },
      userData: Buffer.from(SCRIPT).toString('base64'),
    })
    await store.put(id, 1, build)
  })
  afterAll(async () => {
    await service?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test('finds the same in OpenStack’s and in Amazon’s format', async () => {
    await expect.poll(() => networks.port(networkId)).not.toBe(0)
    const address = `http://127.0.0.1:${networks.port(networkId)}`
    const modules = join(dirname(findProgram('cloud-init')), '../lib/python3/dist-packages')
    const script = join(import.meta.dirname, 'cloud_init.py')
    const env = { PATH: '/usr/bin:/bin', PYTHONPATH: modules, LC_ALL: 'C.UTF-8' }

    const { stdout } = await run('/usr/bin/python3', [script, address, folder], {
      timeoutMs: 60_000,
      env,
    })

    expect(JSON.parse(stdout)).toEqual({
      instance: id,
      hostname: 'web.novalocal',
      keys: [KEY],
      userdata: SCRIPT,
      links: [expect.objectContaining({ ethernet_mac_address: macAddress, mtu: 1442 })],
      amazons: { hostname: 'web.novalocal', key: KEY, userdata: SCRIPT },
    })
  })
})
