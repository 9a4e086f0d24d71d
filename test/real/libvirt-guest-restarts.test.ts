import { statSync } from 'node:fs'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { guestRestarts } from '#gateway/db/schema/protections.ts'
import { deleteServer, SERVERS } from '../env/api/servers.ts'
import type { Cloud } from '../env/cloud.ts'
import { isFullRun } from '../env/full-run.ts'
import { expectInvariants } from '../env/invariants.ts'
import { WeirCommand } from '../env/weir-command.ts'
import type { LibvirtSite } from './libvirt-site.ts'
import { domainsOn, guestPid, killGuest, startTwoHosts } from './libvirt-two-hosts.ts'
import { whyNoGuests } from './requirements.ts'
import type { ServerCells } from './server-cells.ts'

// Goal: a guest whose QEMU is killed runs again on its host, with its disk, where its policy says so, and nowhere else.

const ROOT = '/federation/v1'
const LIMIT_MS = 120_000
const TEST_MS = 400_000
const PROGRAMS = ['libvirtd', 'virsh', 'qemu-system-x86_64']
const why = isFullRun ? whyNoGuests(PROGRAMS) : 'with --all only'

interface Event {
  readonly type: string
  readonly action: string | null
  readonly state: string | null
  readonly message: string | null
}

describe.skipIf(why !== undefined)(
  `guests of two libvirt hosts that are killed${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    let cloud: Cloud
    let cells: ServerCells
    let hosts: readonly [LibvirtSite, LibvirtSite]
    let imageRef: string

    beforeAll(async () => {
      const started = await startTwoHosts(owned, { limitMs: LIMIT_MS })
      cloud = started.cloud
      cells = started.cells
      hosts = started.hosts
      imageRef = started.imageRef
      for (const [name, on_guest_failure] of [
        ['pets', 'restart'],
        ['lab', 'none'],
      ]) {
        const policy = { name, is_selectable: true, on_guest_failure }
        expect((await cells.admin.post(`${ROOT}/placement-policies`, policy)).status).toBe(201)
      }
    }, TEST_MS)
    afterAll(() => owned.disposeAsync(), TEST_MS)

    async function serverWith(policy: string): Promise<string> {
      const server = { name: policy, imageRef, networks: 'none', flavorRef: cloud.catalog.tiny }
      const { status, body } = await cells.demo.post<{ server: { id: string } }>(
        SERVERS,
        { server, 'os:scheduler_hints': { policy } },
        { version: '2.37' },
      )
      expect(status, JSON.stringify(body)).toBe(202)
      return (await cells.until(body.server.id, 'ACTIVE')).id
    }

    async function siteOf(id: string): Promise<LibvirtSite> {
      const name = await cells.hostOf(id)
      return hosts.find(({ host }) => host.name === name)!
    }

    async function pidOf(site: LibvirtSite, id: string): Promise<string> {
      const pid = await guestPid(site, id)
      if (pid === undefined) throw new Error(`Server ${id} has no guest on ${site.host.name}`)
      return pid
    }

    /** The process that the guest has once it is not that one any more. */
    const nextPid = (site: LibvirtSite, id: string, former: string) =>
      cells.waitFor(`another guest of ${id}`, async () => {
        const pid = await guestPid(site, id)
        return pid === former ? undefined : pid
      })

    async function restartsOf(id: string): Promise<readonly Event[]> {
      const path = `${ROOT}/events?server=${id}`
      const { body } = await cells.admin.get<{ events: readonly Event[] }>(path)
      return body.events.filter(({ action }) => action === 'restart guest')
    }

    /** Resolves once a gateway has decided that the server stays off. */
    async function untilDecided(id: string): Promise<void> {
      await using db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 })
      await cells.waitFor(`the decision about ${id}`, async () => {
        const rows = await db.orm.select().from(guestRestarts).where(eq(guestRestarts.serverId, id))
        return rows.length === 1 && rows[0]!.dueAt === null
      })
    }

    const told = async (id: string) => (await new WeirCommand(cloud, 'admin').run(`why ${id}`)).out

    test(
      'one of each host runs again there, with its disk, as its policy says, and no other guest is touched',
      async () => {
        const ids = [await serverWith('pets'), await serverWith('pets')]
        const untouched = await serverWith('pets')
        const before = await Promise.all(
          ids.map(async (id) => {
            const site = await siteOf(id)
            return { id, site, pid: await pidOf(site, id), disk: statSync(site.diskOf(id)).ino }
          }),
        )
        expect(new Set(before.map(({ site }) => site)).size).toBe(2)
        const quiet = await siteOf(untouched)
        const quietPid = await pidOf(quiet, untouched)

        for (const { site, pid } of before) await killGuest(site, pid)

        for (const { id, site, pid, disk } of before) {
          await nextPid(site, id, pid)
          await cells.until(id, 'ACTIVE')
          expect(await siteOf(id)).toBe(site)
          expect(await domainsOn(site, 'running')).toContain(id)
          expect(await domainsOn(hosts.find((each) => each !== site)!)).not.toContain(id)
          expect(statSync(site.diskOf(id)).ino).toBe(disk)
          await expect
            .poll(() => restartsOf(id))
            .toMatchObject([
              {
                ...{ type: 'operation.state', state: 'running' },
                message:
                  'Its guest ended by itself. It is started again, as placement policy pets says.',
              },
            ])
          expect(await told(id)).toContain('started again, as placement policy pets says')
        }
        expect(await pidOf(quiet, untouched)).toBe(quietPid)
        expect(await restartsOf(untouched)).toEqual([])
        for (const id of [...ids, untouched]) await deleteServer(cells.demo, id)
      },
      TEST_MS,
    )

    test(
      'one that is killed again waits first, and then runs again',
      async () => {
        const id = await serverWith('pets')
        const site = await siteOf(id)
        const first = await pidOf(site, id)
        await killGuest(site, first)
        const second = await nextPid(site, id, first)
        await cells.until(id, 'ACTIVE')

        await killGuest(site, second)
        await cells.until(id, 'SHUTOFF')
        expect(await domainsOn(site, 'running')).not.toContain(id)
        await nextPid(site, id, second)
        await cells.until(id, 'ACTIVE')

        await expect
          .poll(async () => (await restartsOf(id)).at(-1)?.message)
          .toContain('2 times in a row')
        expect(await told(id)).toContain('2 times in a row, as placement policy pets says')
        expect(await siteOf(id)).toBe(site)
        await deleteServer(cells.demo, id)
      },
      TEST_MS,
    )

    test(
      'one whose policy leaves it off stays off until its owner starts it',
      async () => {
        const id = await serverWith('lab')
        const other = await serverWith('pets')
        const [site, otherSite] = [await siteOf(id), await siteOf(other)]
        const otherPid = await pidOf(otherSite, other)

        await killGuest(site, await pidOf(site, id))
        await cells.until(id, 'SHUTOFF')
        await untilDecided(id)
        // One that ends later is started again, so the first one's turn has passed.
        await killGuest(otherSite, otherPid)
        await nextPid(otherSite, other, otherPid)
        await cells.until(other, 'ACTIVE')
        await expect.poll(() => restartsOf(other)).toHaveLength(1)

        await cells.until(id, 'SHUTOFF')
        expect(await guestPid(site, id)).toBeUndefined()
        expect(await domainsOn(site)).toContain(id)
        expect(await restartsOf(id)).toEqual([])
        expect(await told(id)).not.toContain('restart guest')
        await cells.on(id)
        expect(await domainsOn(site, 'running')).toContain(id)
        for (const each of [id, other]) await deleteServer(cells.demo, each)
        for (const each of hosts) expect(await domainsOn(each)).toEqual([])
        await expectInvariants(cloud)
      },
      TEST_MS,
    )
  },
)
