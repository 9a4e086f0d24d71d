import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { ensureImage } from '#deploy/catalog/ensure-image.ts'
import { startLibvirtHost } from '#deploy/libvirt-host/libvirt-host.ts'
import type { Loose } from '../env/api/client.ts'
import { createServer, SERVERS, untilGone, untilStatus } from '../env/api/servers.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { startDrivenHost } from '../env/driven-host.ts'
import { isFullRun } from '../env/full-run.ts'
import { expectInvariants } from '../env/invariants.ts'
import { largePages, takeLargePages } from './large-pages.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'dnsmasq', 'genisoimage']
const MIB = 1024 ** 2
const BOOT_MS = 120_000
const why = whyNoGuests(COMMANDS)

/** It boots nothing, which is the fastest guest there is. */
async function blankImage(cloud: Cloud): Promise<string> {
  const admin = cloud.as('admin')
  const endpoint = cloud.endpoints[0] ?? ''
  await ensureImage(
    { endpoint, token: await admin.token() },
    {
      ...{ name: 'blank', diskFormat: 'raw', containerFormat: 'bare', properties: {} },
      ...{ minDiskGb: 0, minRamMb: 0, content: () => Readable.from([Buffer.alloc(MIB)]) },
    },
  )
  const { body } = await admin.get<{ images: readonly [{ id: string }] }>(
    '/image/v2/images?name=blank',
  )
  return body.images[0].id
}

describe.skipIf(why !== undefined || !isFullRun)(
  `large pages of a libvirt host${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    test('are in Placement, allocated while their server exists, and refused beyond their number', async ({
      skip,
    }) => {
      const { kib } = largePages()
      using pages = takeLargePages(64)
      skip(pages === undefined, 'the kernel of this machine gives no large pages')
      const folder = await mkdtemp(join(tmpdir(), 'weir-lp-'))
      const machine = await startLibvirtHost({ directory: folder, name: 'paged' })
      try {
        await using cloud = await startCloud({ cells: 1, hostsPerCell: 1 })
        await using host = await startDrivenHost(cloud, 'libvirt', {
          ...{ uri: machine.uri, virt_type: 'qemu', vcpus: '2', memory_mb: '2048', disk_gb: '9' },
        })
        const [admin, demo] = [cloud.as('admin'), cloud.as('demo')]
        const get = async (path: string) => (await admin.get<Loose>(path, { version: '1.39' })).body
        const before = largePages()
        const totalMb = (before.total * kib) / 1024
        const ram = (48 * kib) / 1024
        const flavor = { name: 'paged', id: 'paged', ram, vcpus: 1, disk: 1 }
        await admin.post('/compute/v2.1/flavors', { flavor })
        const extra_specs = { 'hw:mem_page_size': 'large' }
        await admin.post('/compute/v2.1/flavors/paged/os-extra_specs', { extra_specs })
        const asked = { flavorRef: 'paged', imageRef: await blankImage(cloud) }
        const inventories = () => get(`/placement/resource_providers/${host.id}/inventories`)
        expect(await inventories()).toMatchObject({
          inventories: { CUSTOM_HUGEPAGE_MB: { total: totalMb } },
        })

        const first = await createServer(cloud, demo, asked)
        await untilStatus(demo, first, 'ACTIVE', BOOT_MS)
        expect(before.free - largePages().free).toBe(48)
        const { body } = await demo.get<Loose>(`${SERVERS}/${first}/topology`, { version: '2.78' })
        expect(body).toMatchObject({ pagesize_kb: kib })

        const second = await createServer(cloud, demo, asked)
        await expect(untilStatus(demo, second, 'ACTIVE', BOOT_MS)).rejects.toThrow('No valid host')
        const trace = JSON.stringify(await get(`/federation/v1/servers/${second}/trace`))
        expect(trace).toMatch(
          new RegExp(
            `(${totalMb - ram} CUSTOM_HUGEPAGE_MB free, ${ram} are needed)|no host has ${ram} CUSTOM_HUGEPAGE_MB free`,
          ),
        )

        for (const id of [first, second]) {
          await demo.delete(`${SERVERS}/${id}`)
          await untilGone(demo, id, BOOT_MS)
        }
        await expect.poll(() => largePages().free).toBe(before.free)
        await expectInvariants(cloud)
      } finally {
        await machine.stop()
        await rm(folder, { recursive: true, force: true })
      }
    }, 600_000)
  },
)
