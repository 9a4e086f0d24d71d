import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '../env/api/client.ts'
import { activeServer, deleteServer, showServer, untilStatus } from '../env/api/servers.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { isFullRun } from '../env/full-run.ts'
import { expectInvariants } from '../env/invariants.ts'
import { type PrivatePacemaker, startPacemaker } from './private-pacemaker.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: a Pacemaker cluster fences the host that is a node of it, and no server moves before its history says so.

const ROOT = '/federation/v1'
const LIMIT_MS = 120_000
const TEST_MS = 300_000
const PROGRAMS = ['corosync', 'pacemakerd', 'stonith_admin', 'fence_dummy', 'unshare', 'nsenter']
const why = isFullRun ? whyNoGuests(PROGRAMS) : 'with --all only'

interface Host {
  readonly id: string
  readonly name: string
  readonly fenced_at: string | null
  readonly fence_problem: string | null
  readonly fence_device: { readonly name: string; readonly problem: string | null } | null
}

describe.skipIf(why !== undefined)(
  `hosts that are nodes of Pacemaker${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    let folder: string
    let cluster: PrivatePacemaker
    let cloud: Cloud
    let demo: ApiClient
    let admin: ApiClient

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'weir-pcmk-'))
      owned.defer(() => rmSync(folder, { recursive: true, force: true }))
      cluster = owned.use(await startPacemaker(folder))
      const file = join(folder, 'devices.json')
      const nodes = { 'north-1': 'one.example', 'north-2': 'two.example' }
      const devices = Object.entries(nodes).map(([host, pacemaker]) => [host, { pacemaker }])
      writeFileSync(file, JSON.stringify(Object.fromEntries(devices)))
      cloud = owned.use(
        await startCloud({
          ...{ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 3 },
          cell: {
            CELL_FENCE_DEVICES_FILE: file,
            CELL_FENCE_AGENTS_DIRECTORY: folder,
            CELL_FENCE_HOSTS_AFTER_S: '5',
          },
        }),
      )
      demo = cloud.as('demo')
      admin = cloud.as('admin')
    }, TEST_MS)

    afterAll(() => owned.disposeAsync(), TEST_MS)

    function until(nth: number, is: (host: Host) => boolean): Promise<Host> {
      const { id, name } = cloud.hosts[nth]!
      const seen = async () => {
        const { body } = await admin.get<Host>(`${ROOT}/hosts/${id}`)
        return is(body) ? body : undefined
      }
      return waitFor(`host ${name}`, seen, LIMIT_MS)
    }
    const deviceOf = async (nth: number) =>
      (await until(nth, ({ fence_device }) => fence_device !== null)).fence_device

    test('a lost node is powered off by its cluster, and then its servers move', {
      timeout: TEST_MS,
    }, async () => {
      const power = join(folder, 'power')
      writeFileSync(power, 'on')
      const [host] = cloud.hosts
      expect(await deviceOf(1)).toEqual({
        name: 'Pacemaker',
        problem: 'The cluster has no fence device for a node two.example.',
      })
      for (const other of cloud.hosts.slice(1))
        await admin.call('PATCH', `${ROOT}/hosts/${other.id}`, { is_cordoned: true })
      const { id } = await activeServer(cloud, demo)
      for (const other of cloud.hosts.slice(1))
        await admin.call('PATCH', `${ROOT}/hosts/${other.id}`, { is_cordoned: false })
      const hostOf = async () => (await showServer(admin, id))['OS-EXT-SRV-ATTR:host']
      expect(await hostOf()).toBe(host!.name)

      await host!.process.kill()
      const held = await until(0, ({ fence_problem }) => fence_problem !== null)
      expect(held.fence_problem).toBe(
        "It could not be fenced by Pacemaker: Couldn't fence one.example: No such device.",
      )
      expect([await hostOf(), readFileSync(power, 'utf8')]).toEqual([host!.name, 'on'])

      await cluster.register('one.example', 'fence_dummy', { type: 'file', status_file: power })
      await until(0, ({ fenced_at }) => fenced_at !== null)
      expect(readFileSync(power, 'utf8')).toBe('off')
      await waitFor('the server to move', async () => (await hostOf()) !== host!.name, LIMIT_MS)
      await untilStatus(demo, id, 'ACTIVE')
      await host!.process.start()
      await until(0, ({ fenced_at }) => fenced_at === null)
      await expect.poll(() => host!.guests(), { timeout: LIMIT_MS }).toEqual([])
      await deleteServer(demo, id)
      await expectInvariants(cloud)
    })
  },
)
