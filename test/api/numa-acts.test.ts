import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { act, createServer, showServer, untilSettled, untilStatus } from '#test/env/api/servers.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { HALF, NOTHING, NumaCloud, USED, WHOLE } from './numa-cloud.ts'

// Goal: whatever is done to a server, it holds of NUMA nodes what it takes of those that it is on, and nothing else does.

let numa: NumaCloud

describe.runIf(isFullRun)('servers of NUMA nodes', () => {
  beforeAll(async () => {
    numa = await NumaCloud.start()
  })

  afterAll(() => numa?.[Symbol.asyncDispose]())

  afterEach(async () => {
    await numa.deleteAll()
    for (const { name } of numa.cloud.hosts)
      await expect.poll(() => numa.usagesOf(name)).toEqual([NOTHING, NOTHING])
  })

  describe('on one host', () => {
    let host: string
    beforeAll(async () => {
      host = numa.cloud.hosts[0]!.name
      await numa.enable(numa.cloud.hosts[1]!.name, 'disable')
    })
    afterAll(() => numa.enable(numa.cloud.hosts[1]!.name, 'enable'))

    test('of servers asked for at once as many are built as nodes have room for', async () => {
      const ids = await Promise.all(
        [1, 2, 3, 4].map(() => createServer(numa.cloud, numa.demo, { flavorRef: 'node' })),
      )
      const ends = await Promise.allSettled(ids.map((id) => untilStatus(numa.demo, id, 'ACTIVE')))

      expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
      await expect.poll(() => numa.usagesOf(host)).toEqual([USED, USED])
    })

    test('a resize takes room of nodes, and gives back what it does not need', async () => {
      const server = await numa.boot('node')
      const former = await numa.nodesOfGuest(server.id)
      const resize = async () => {
        await act(numa.demo, server.id, { resize: { flavorRef: 'nodes' } })
        await untilStatus(numa.demo, server.id, 'VERIFY_RESIZE')
      }
      await resize()
      expect(await numa.heldWhereItIs(server.id, host)).toEqual([HALF, HALF])
      const both = { ...NOTHING, VCPU: 3, MEMORY_MB: 384 }
      await expect.poll(() => numa.sortedUsagesOf(host)).toEqual([both, { ...NOTHING, ...HALF }])

      await act(numa.demo, server.id, { revertResize: null })
      await untilStatus(numa.demo, server.id, 'ACTIVE')
      expect(await numa.nodesOfGuest(server.id)).toEqual(former)
      expect(await numa.heldWhereItIs(server.id, host)).toEqual([WHOLE])
      await expect.poll(() => numa.sortedUsagesOf(host)).toEqual([USED, NOTHING])

      await resize()
      await act(numa.demo, server.id, { confirmResize: null })
      await untilStatus(numa.demo, server.id, 'ACTIVE')
      const one = { ...NOTHING, ...HALF }
      await expect.poll(() => numa.usagesOf(host)).toEqual([one, one])
    })

    test('a resize that the host cannot do leaves the server on its nodes', async () => {
      const server = await numa.boot('node')
      const former = await numa.nodesOfGuest(server.id)
      numa.cloud.hosts[0]!.fail({ method: 'resize', effect: { do: 'fail', kind: 'internal' } })
      await act(numa.demo, server.id, { resize: { flavorRef: 'nodes' } })
      await untilSettled(numa.cloud, server.id)
      numa.cloud.hosts[0]!.fail()

      expect(await numa.nodesOfGuest(server.id)).toEqual(former)
      expect(await numa.heldWhereItIs(server.id, host)).toEqual([WHOLE])
      await expect.poll(() => numa.sortedUsagesOf(host)).toEqual([USED, NOTHING])
    })

    test('a rebuild may not change the nodes of a server', async () => {
      const server = await numa.boot('node')
      const draft = {
        ...{ name: 'two nodes', disk_format: 'raw', container_format: 'bare' },
        ...{ hypervisor_type: 'fake', hw_cpu_policy: 'dedicated' },
      }
      const image = await numa.demo.post<{ id: string }>('/image/v2/images', draft)
      const path = `/image/v2/images/${image.body.id}/file`
      const headers = { 'content-type': 'application/octet-stream' }
      await numa.demo.call('PUT', path, undefined, { raw: Buffer.from('x'), headers })

      const answer = await act(numa.demo, server.id, { rebuild: { imageRef: image.body.id } })
      expect(JSON.stringify(answer.body)).toContain('NUMA topology')
      expect(await numa.heldWhereItIs(server.id, host)).toEqual([WHOLE])
    })

    test('a server that is shelved holds nothing of nodes, and something again afterwards', async () => {
      const server = await numa.boot('node')
      await act(numa.demo, server.id, { shelve: null })
      await untilStatus(numa.demo, server.id, 'SHELVED_OFFLOADED')
      await expect.poll(() => numa.usagesOf(host)).toEqual([NOTHING, NOTHING])

      await act(numa.demo, server.id, { unshelve: null })
      await untilStatus(numa.demo, server.id, 'ACTIVE')
      expect(await numa.heldWhereItIs(server.id, host)).toEqual([WHOLE])
    })

    test('a restart of the cell and the host changes nothing', async () => {
      const first = await numa.boot('node')
      const [former] = await numa.nodesOfGuest(first.id)
      const programs = [...numa.cloud.cells[0]!.processes, numa.cloud.hosts[0]!.process]
      for (const program of programs) await program.stop()
      for (const program of programs) await program.start()

      const second = await numa.boot('node')
      expect(await numa.nodesOfGuest(second.id)).toEqual([1 - former!])
      expect(await numa.heldWhereItIs(first.id, host)).toEqual([WHOLE])
      expect(await numa.heldWhereItIs(second.id, host)).toEqual([WHOLE])
    })
  })

  describe('between hosts', () => {
    const hostOf = async (id: string) =>
      String((await showServer(numa.admin, id))['OS-EXT-SRV-ATTR:host'])
    const other = (host: string) => numa.cloud.hosts.find(({ name }) => name !== host)!.name
    const usesOnly = async (host: string) => {
      await expect.poll(() => numa.sortedUsagesOf(host)).toEqual([USED, NOTHING])
      await expect.poll(() => numa.usagesOf(other(host))).toEqual([NOTHING, NOTHING])
    }

    test('a cold migration holds nodes of both until it is confirmed or reverted', async () => {
      const server = await numa.boot('node')
      const from = await hostOf(server.id)
      const migrate = async () => {
        await act(numa.admin, server.id, { migrate: null })
        await untilStatus(numa.demo, server.id, 'VERIFY_RESIZE')
      }
      await migrate()
      for (const host of [from, other(from)])
        await expect.poll(() => numa.sortedUsagesOf(host)).toEqual([USED, NOTHING])
      expect(await numa.heldWhereItIs(server.id, other(from))).toEqual([WHOLE])

      await act(numa.demo, server.id, { revertResize: null })
      await untilStatus(numa.demo, server.id, 'ACTIVE')
      expect(await numa.heldWhereItIs(server.id, from)).toEqual([WHOLE])
      await usesOnly(from)

      await migrate()
      await act(numa.demo, server.id, { confirmResize: null })
      await untilStatus(numa.demo, server.id, 'ACTIVE')
      await usesOnly(other(from))
    })

    test('a live migration takes nodes there and gives back those here', async () => {
      const server = await numa.boot('node')
      const from = await hostOf(server.id)
      const live = { host: null, block_migration: false, disk_over_commit: false }
      await act(numa.admin, server.id, { 'os-migrateLive': live })
      await expect.poll(() => hostOf(server.id)).toBe(other(from))
      await untilStatus(numa.demo, server.id, 'ACTIVE')

      await usesOnly(other(from))
      expect(await numa.heldWhereItIs(server.id, other(from))).toEqual([WHOLE])
    })

    test('an evacuation takes nodes of another host', async () => {
      const server = await numa.boot('node')
      const from = await hostOf(server.id)
      const lost = numa.cloud.hosts.find(({ name }) => name === from)!
      await lost.process.kill()
      const forceDown = (forced_down: boolean) =>
        numa.admin.put(
          '/compute/v2.1/os-services/force-down',
          { host: from, binary: 'nova-compute', forced_down },
          { version: '2.11' },
        )
      await forceDown(true)
      await act(numa.admin, server.id, { evacuate: { onSharedStorage: false } })
      await expect.poll(() => hostOf(server.id)).toBe(other(from))
      await untilStatus(numa.demo, server.id, 'ACTIVE')

      await usesOnly(other(from))
      await lost.process.start()
      await forceDown(false)
      await expect.poll(() => lost.guests()).toEqual([])
    })
  })
})
