import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Microversion } from '#openapi/microversions.ts'
import type { ApiClient, Loose } from '../env/api/client.ts'
import { createServer, deleteServer, SERVERS, untilStatus } from '../env/api/servers.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { startDrivenHost } from '../env/driven-host.ts'
import { isFullRun } from '../env/full-run.ts'
import { expectInvariants } from '../env/invariants.ts'
import { type IscsiTarget, isTargetHere, startTarget } from '../env/iscsi/target.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { giveIscsiPool } from './libvirt-iscsi-harness.ts'
import { whyNoGuests } from './requirements.ts'

const MIB = 1024 ** 2
const GIB = 1024 * MIB
const V3 = '/volume/v3'
const LIMIT_MS = 120_000
const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io', 'dnsmasq']
const why =
  isFullRun && isTargetHere() ? whyNoGuests(COMMANDS) : 'not asked for, or no target of iSCSI'
const poll = { timeout: LIMIT_MS, interval: 500 }

interface Shown {
  readonly status: string
  readonly size: number
}

describe.skipIf(why !== undefined)(
  `a cloud with volumes on iSCSI LUNs${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    let cloud: Cloud
    let demo: ApiClient
    let admin: ApiClient
    let target: IscsiTarget
    let libvirt: LibvirtHarness
    let imageRef: string

    beforeAll(async () => {
      const sizes = [GIB + MIB, GIB + MIB, 2 * GIB + MIB]
      target = owned.use(await startTarget({ sizes }))
      libvirt = owned.use(await startLibvirtHarness('iscsi'))
      owned.use(await giveIscsiPool(libvirt, target, 'iqn.2026-01.org.example:host'))
      const processes = { gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 0 }
      cloud = owned.use(await startCloud(processes))
      demo = cloud.as('demo')
      admin = cloud.as('admin')
      const size = { vcpus: '4', memory_mb: '2048', disk_gb: '20' }
      const settings = { uri: libvirt.host.uri, virt_type: 'qemu', volume_pools: 'luns', ...size }
      owned.use(await startDrivenHost(cloud, 'libvirt', settings))
      const draft = { name: 'blank', disk_format: 'raw', container_format: 'bare' }
      const { body } = await demo.post<{ id: string }>('/image/v2/images', draft)
      imageRef = body.id
      await demo.call('PUT', `/image/v2/images/${imageRef}/file`, undefined, {
        raw: Buffer.alloc(MIB),
        headers: { 'content-type': 'application/octet-stream' },
      })
    }, 300_000)
    afterAll(() => owned.disposeAsync(), 60_000)

    const pool = async () => {
      type Pools = { readonly pools: readonly { readonly capabilities: object }[] }
      const path = `${V3}/scheduler-stats/get_pools?detail=true`
      return (await admin.get<Pools>(path)).body.pools[0]?.capabilities
    }
    const create = async (size: number) => {
      const asked = { volume: { size, name: `of-${size}` } }
      return (await demo.post<{ volume: { id: string } }>(`${V3}/volumes`, asked)).body.volume.id
    }
    const show = async (id: string) =>
      (await demo.get<{ volume: Shown }>(`${V3}/volumes/${id}`)).body.volume
    const statusOf = async (id: string) => (await show(id)).status
    const made = async (size: number) => {
      const id = await create(size)
      await expect.poll(() => statusOf(id), poll).toBe('available')
      return id
    }
    const gone = async (id: string) => {
      await demo.delete(`${V3}/volumes/${id}`)
      const isGone = async () => (await demo.get(`${V3}/volumes/${id}`)).status
      await expect.poll(isGone, poll).toBe(404)
    }
    const whyOf = async (id: string) =>
      JSON.stringify((await admin.get(`/federation/v1/volumes/${id}/trace`)).body)

    test('volumes take LUNs while there are any, go with servers, and give the LUNs back', async () => {
      await expect.poll(pool, poll).toMatchObject({ total_capacity_gb: 4, free_capacity_gb: 4 })
      const large = await made(2)
      await expect.poll(pool, poll).toMatchObject({ free_capacity_gb: 2 })
      const tooLarge = await create(2)
      await expect.poll(() => statusOf(tooLarge), poll).toBe('error')
      expect(await whyOf(tooLarge)).toContain('no part of it has more than 1 GiB free')
      const small = await made(1)

      const server = await createServer(cloud, demo, { imageRef })
      await untilStatus(demo, server, 'ACTIVE')
      const attachment = { volumeAttachment: { volumeId: small } }
      await demo.post(`${SERVERS}/${server}/os-volume_attachments`, attachment)
      await expect.poll(() => statusOf(small), poll).toBe('in-use')

      const refused = async (path: string, body: object, version: Microversion = '3.0') => {
        const { status, body: said } = await demo.post<Loose>(`${V3}/${path}`, body, { version })
        return `${status} ${JSON.stringify(said)}`
      }
      for (const volume_id of [large, small])
        expect(await refused('snapshots', { snapshot: { volume_id, force: true } })).toMatch(
          /^400 .*makes no snapshots/,
        )
      expect(await refused('volumes', { volume: { size: 1, source_volid: small } })).toMatch(
        /^400 .*copies no volume that a server uses/,
      )
      const extend = { 'os-extend': { new_size: 2 } }
      expect(await refused(`volumes/${small}/action`, extend, '3.42')).toMatch(
        /^400 .*extends no volume that a server uses/,
      )
      expect(await statusOf(large)).toBe('available')

      await deleteServer(demo, server)
      await expect.poll(() => statusOf(small), poll).toBe('available')
      for (const id of [large, small, tooLarge]) await gone(id)
      await expect.poll(pool, poll).toMatchObject({ free_capacity_gb: 4 })
      await expectInvariants(cloud)
    }, 300_000)
  },
)
