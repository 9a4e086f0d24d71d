import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Operation, showOperation } from '../env/api/operations.ts'
import { deleteServer, SERVERS, showServer } from '../env/api/servers.ts'
import type { Cloud } from '../env/cloud.ts'
import { isFullRun } from '../env/full-run.ts'
import { expectInvariants } from '../env/invariants.ts'
import { WeirCommand } from '../env/weir-command.ts'
import type { LibvirtSite } from './libvirt-site.ts'
import {
  allocationsOf,
  domainsOn,
  foldersOn,
  startTwoHosts,
  usageOf,
  usagesOf,
} from './libvirt-two-hosts.ts'
import { type NestedSite, startNestedSite } from './nested-site.ts'
import { whyNoGuests } from './requirements.ts'
import type { ServerCells } from './server-cells.ts'

// Goal: `weir cell drain` empties a cell of two libvirt hosts into a cell of another cloud; each server is the same there, with
// its disk, and one that cannot go says why, runs on, and goes once it can.

const LIMIT_MS = 240_000
const TEST_MS = 600_000
const PROGRAMS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io']
const KEPT = ['name', 'metadata', 'created', 'image', 'flavor', 'addresses', 'status'] as const
const why = isFullRun ? whyNoGuests(PROGRAMS) : 'with --all only'

describe.skipIf(why !== undefined)(
  `a cell of two libvirt hosts, and one of a cloud of libvirt hosts${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    let cloud: Cloud
    let cells: ServerCells
    let hosts: readonly [LibvirtSite, LibvirtSite]
    let south: NestedSite
    let imageRef: string
    let command: WeirCommand

    beforeAll(async () => {
      const started = await startTwoHosts(owned, { limitMs: LIMIT_MS, count: 2 })
      cloud = started.cloud
      cells = started.cells
      hosts = started.hosts
      imageRef = started.imageRef
      const directory = join(started.folder, 'below')
      south = await startNestedSite(owned, cells, cloud, 'south', directory)
      command = new WeirCommand(cloud, 'admin')
    }, TEST_MS)
    afterAll(() => owned.disposeAsync(), TEST_MS)

    async function siteOf(id: string): Promise<LibvirtSite> {
      const name = await cells.hostOf(id)
      return hosts.find(({ host }) => host.name === name)!
    }

    /** A server of the cell that is off, on whichever of its hosts, with the byte on its disk. */
    const markedServer = (name: string, byte: number) =>
      cells.markedServer(
        { name: 'north', mark: async (id, with_) => (await siteOf(id)).mark(id, with_) },
        { name, imageRef, metadata: { role: name } },
        byte,
      )

    /** A server that stays bound to the zone of the cell. */
    async function boundServer(name: string): Promise<string> {
      const where = { networks: 'none', availability_zone: 'north' }
      const { tiny: flavorRef } = cloud.catalog
      const server = { name, imageRef, flavorRef, metadata: { role: name }, ...where }
      const { status, body } = await cells.demo.post<{ server: { id: string } }>(
        SERVERS,
        { server },
        { version: '2.37' },
      )
      expect(status, JSON.stringify(body)).toBe(202)
      return (await cells.until(body.server.id, 'ACTIVE')).id
    }

    /** What of the server must not change. */
    async function kept(id: string): Promise<object> {
      const server = await showServer(cells.demo, id)
      return Object.fromEntries(KEPT.map((field) => [field, server[field]]))
    }

    const imageUsage = async () =>
      (await cells.demo.get<{ usage: object }>('/image/v2/info/usage')).body.usage
    const reports = (drains: readonly Operation[]) =>
      Promise.all(drains.map(({ id }) => showOperation(cells.admin, id)))

    test(
      'its servers, running and stopped, of both hosts end in the other cell, and nothing of them is left',
      async () => {
        const running = [await markedServer('web-1', 0x11), await markedServer('web-2', 0x22)]
        const stopped = [await markedServer('db-1', 0x33), await markedServer('db-2', 0x44)]
        for (const pair of [running, stopped])
          expect(new Set(await Promise.all(pair.map(siteOf))).size).toBe(2)
        for (const id of running) await cells.on(id)
        const bound = await boundServer('bound')
        const all = [...running, ...stopped, bound]
        const before = await Promise.all(all.map(kept))
        const [usage, images] = [await usageOf(cells), await imageUsage()]

        const drain = 'cell drain north --to-other-cells --reason works'
        const { out: forecast } = await command.run(`${drain} --dry-run`)
        expect(forecast).toMatch(/^web-1 .* south +-/m)
        expect(forecast).toMatch(
          /^bound .* - +Server \S+ cannot be moved: .*AvailabilityZoneFilter/m,
        )
        for (const site of hosts) expect(await domainsOn(site)).not.toEqual([])

        const drains = await command.json<readonly Operation[]>(drain)
        expect(drains).toHaveLength(2)
        const waits = await cells.waitFor('all but the bound server to move', async () => {
          const left = (await reports(drains)).filter(({ state }) => state === 'running')
          const [one, ...others] = left
          const isWaiting = one?.message?.includes('AvailabilityZoneFilter') === true
          return others.length === 0 && isWaiting ? one : undefined
        })
        expect(waits.remaining).toBe(1)
        expect(waits.message).toMatch(/^1 server is left\. bound waits: /)
        // In between it is tried again.
        const shown = async () => (await command.run(`operation show ${waits.id}`)).out
        const reason = /^bound +waiting +cell +\d+ .*AvailabilityZoneFilter/m
        await expect.poll(shown, { timeout: LIMIT_MS }).toMatch(reason)
        await expect.poll(() => kept(bound)).toEqual(before.at(-1))
        expect(await domainsOn(await siteOf(bound), 'running')).toEqual([bound])

        const free = { server: { pinned_availability_zone: null } }
        await cells.demo.put(`${SERVERS}/${bound}`, free, { version: '2.104' })
        const { code, out, err } = await command.run(`${drain} --wait`)
        expect(code, err).toBe(0)
        expect(out.match(/STATE +done/g)).toHaveLength(2)

        await expectReported(drains, all)
        expect(await Promise.all(all.map(kept))).toEqual(before)
        await expect.poll(() => usageOf(cells)).toEqual(usage)
        await expect.poll(imageUsage).toEqual(images)
        await expectThere(all, [...running, bound])
        await expectNothingHere()
        const { body: cell } = await cells.admin.get('/federation/v1/cells/north')
        expect(cell).toMatchObject({ is_enabled: false, disabled_reason: 'works' })

        for (const [nth, id] of running.entries())
          expect(await cells.runsMarked(south, id, [0x11, 0x22][nth]!)).toBe(true)
        for (const [nth, id] of stopped.entries())
          expect(await south.isMarked(id, [0x33, 0x44][nth]!)).toBe(true)
        for (const id of all) await deleteServer(cells.demo, id)
        await expect.poll(() => south.serversBelow()).toEqual([])
        await expect.poll(() => domainsOn(south.bottom)).toEqual([])
        await expectInvariants(cloud)
      },
      2 * TEST_MS,
    )

    /** The operations have ended well, and tell of each server that it has changed cells. */
    async function expectReported(
      drains: readonly Operation[],
      all: readonly string[],
    ): Promise<void> {
      const ended = await reports(drains)
      for (const operation of ended)
        expect(operation).toMatchObject({ state: 'done', remaining: 0, message: null })
      const moves = ended.flatMap((operation) => operation.moves ?? [])
      expect(moves.map(({ state }) => state)).toEqual(moves.map(() => 'moved'))
      const changed = moves.filter(({ method }) => method === 'cell')
      expect(changed.map(({ server_id }) => server_id).toSorted()).toEqual(all.toSorted())
    }

    /** The other cell has all of them, and those run in the cloud below. */
    async function expectThere(all: readonly string[], running: readonly string[]): Promise<void> {
      for (const id of all) {
        expect(await cells.hostOf(id)).toBe(south.host.name)
        expect(Object.keys(await allocationsOf(cells, id))).toEqual([south.host.id])
      }
      const names = new Map<string, string>()
      for (const { id, name } of await south.serversBelow()) names.set(id, name)
      const named = (ids: readonly string[]) => ids.map((id) => names.get(id) ?? id).toSorted()
      const namesOf = async (ids: readonly string[]) =>
        (await Promise.all(ids.map((id) => showServer(cells.demo, id))))
          .map(({ name }) => name)
          .toSorted()
      expect(named(await domainsOn(south.bottom))).toEqual(await namesOf(all))
      expect(named(await domainsOn(south.bottom, 'running'))).toEqual(await namesOf(running))
    }

    /** Neither libvirt nor the disks nor placement have anything of a server on the former hosts. */
    async function expectNothingHere(): Promise<void> {
      for (const site of hosts) {
        await expect.poll(() => domainsOn(site)).toEqual([])
        await expect.poll(() => foldersOn(cloud, site)).toEqual([])
        await expect
          .poll(() => usagesOf(cells, site))
          .toMatchObject({ VCPU: 0, MEMORY_MB: 0, DISK_GB: 0 })
      }
    }
  },
)
