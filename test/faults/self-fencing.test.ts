import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { deleteServer, showServer, unboundServer, untilStatus } from '#test/env/api/servers.ts'
import type { CloudHost } from '#test/env/cloud/cloud-host.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// Goal: servers of a host that is cut off and has no fence device run on another host, and never before it has stopped them.

const FENCE_S = 30
/** Until it is silent for long enough, has stopped its guests, and the margin has passed. */
const FENCED_MS = 180_000

describe.skipIf(!isFullRun)('a cell whose hosts fence themselves', () => {
  let cloud: Cloud
  let demo: ApiClient
  let admin: ApiClient

  beforeAll(async () => {
    cloud = await startCloud({
      ...{ cells: 1, hostsPerCell: 3, processesPerCell: 2 },
      cell: {
        CELL_FENCE_AFTER_S: String(FENCE_S),
        CELL_SELF_FENCING: 'true',
        CELL_FENCE_HOSTS_AFTER_S: '5',
      },
    })
    demo = cloud.as('demo')
    admin = cloud.as('admin')
  })
  afterAll(() => cloud?.[Symbol.asyncDispose]())

  const shown = async ({ id }: CloudHost) =>
    (
      await admin.get<{
        readonly is_up: boolean
        readonly fenced_at: string | null
        readonly fence_problem: string | null
      }>(`/federation/v1/hosts/${id}`)
    ).body
  const hostOf = async (id: string) => (await showServer(admin, id))['OS-EXT-SRV-ATTR:host']
  const serverAndHost = async (name: string) => {
    const { id } = await unboundServer(cloud, demo, 'north', { name })
    const on = await hostOf(id)
    return { id, host: cloud.hosts.find((each) => each.name === on)! }
  }

  test(
    'has its servers run on another host once it has stopped them, and comes back by itself',
    async () => {
      const { id, host } = await serverAndHost('survivor')
      const seen: string[] = []
      const runningOn = async () => {
        const on = await Promise.all(
          cloud.hosts.map(async (each) => ((await each.runningGuests()).includes(id) ? 1 : 0)),
        )
        return on.reduce<number>((sum, one) => sum + one, 0)
      }

      host.process.freeze()
      await waitFor(
        'the server on another host',
        async () => {
          expect(await runningOn()).toBeLessThanOrEqual(1)
          const { fence_problem: problem, fenced_at: at } = await shown(host)
          const state = at === null ? (problem ?? 'silent') : 'fenced'
          if (seen.at(-1) !== state) seen.push(state)
          return (await hostOf(id)) !== host.name && (await runningOn()) === 1 ? true : undefined
        },
        FENCED_MS,
      )
      await untilStatus(demo, id, 'ACTIVE')

      expect(seen.filter((state) => state !== 'silent')).toEqual([
        expect.stringContaining('stops its guests by itself'),
        'fenced',
      ])
      host.process.thaw()
      await waitFor(
        'the host to be back',
        async () => ((await shown(host)).is_up ? true : undefined),
        FENCED_MS,
      )
      await waitFor(
        'its old guest to be gone',
        async () => ((await host.guests()).includes(id) ? undefined : true),
        FENCED_MS,
      )
      expect(await runningOn()).toBe(1)
      await expectInvariants(cloud)
      await deleteServer(demo, id)
    },
    3 * FENCED_MS,
  )

  test(
    'keeps the servers of a host that is heard again before',
    async () => {
      const { id, host } = await serverAndHost('quick')

      host.process.freeze()
      await waitFor(
        'the host to be left alone',
        async () => (await shown(host)).fence_problem ?? undefined,
        FENCED_MS,
      )
      host.process.thaw()
      await waitFor(
        'the host to be in touch again',
        async () => {
          const { is_up: isUp, fence_problem: problem } = await shown(host)
          return isUp && problem === null ? true : undefined
        },
        FENCED_MS,
      )

      expect(await shown(host)).toMatchObject({ fenced_at: null, fence_problem: null })
      await untilStatus(demo, id, 'ACTIVE')
      expect(await hostOf(id)).toBe(host.name)
      await expectInvariants(cloud)
    },
    2 * FENCED_MS,
  )
})
