import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type InstanceId, newId } from '#common/ids.ts'
import type { UnmanagedGuest } from '#drivers/adopt.ts'
import { untilGone, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { WeirCommand } from '#test/env/weir-command.ts'

let cloud: Cloud

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 1 })
})
afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

function planted(change: Partial<UnmanagedGuest> = {}): UnmanagedGuest {
  const guest: UnmanagedGuest = {
    ...{ id: newId<InstanceId>(), name: 'old', powerState: 'running' },
    ...{ vcpus: 1, memoryMb: 128, rootGb: null },
    ...change,
  }
  cloud.hosts[0]!.plant(guest)
  return guest
}

describe('a guest that is on a host already', () => {
  const path = () => `/federation/v1/hosts/${cloud.hosts[0]!.id}`
  const order = (guest: string, change: object = {}) => {
    const { project } = cloud.foundation.accounts.demo
    return { guest, flavor: 'm1.tiny', image: 'tiny', project, ...change }
  }
  const adopt = (guest: string, change?: object, headers: Readonly<Record<string, string>> = {}) =>
    cloud
      .as('admin')
      .call<{ detail: string }>('POST', `${path()}/adopt`, order(guest, change), { headers })
  const guests = async () => {
    type Guests = { readonly guests: readonly object[] }
    return (await cloud.as('admin').get<Guests>(`${path()}/guests`)).body.guests
  }
  const used = async () => {
    type Limits = { limits: { absolute: { totalInstancesUsed: number } } }
    const { body } = await cloud.as('demo').get<Limits>('/compute/v2.1/limits')
    return body.limits.absolute.totalInstancesUsed
  }

  test('is listed, is adopted once and unchanged, counts against the quota, and obeys its new owner', async () => {
    const demo = cloud.as('demo')
    const { id } = planted()
    const shown = { id, name: 'old', power_state: 'running', vcpus: 1, memory_mb: 128 }
    expect(await guests()).toEqual([{ ...shown, disk_gb: null }])
    const before = await used()

    const answers = await Promise.all([adopt(id), adopt(id)])
    expect(answers.map(({ status }) => status)).toEqual(expect.arrayContaining([202, 409]))
    await untilStatus(demo, id, 'ACTIVE')
    expect(await used()).toBe(before + 1)
    expect((await adopt(id)).status).toBe(404)
    expect(await guests()).toEqual([])

    await demo.post(`/compute/v2.1/servers/${id}/action`, { 'os-stop': null })
    await untilStatus(demo, id, 'SHUTOFF')
    await demo.delete(`/compute/v2.1/servers/${id}`)
    await untilGone(demo, id)
    expect(await cloud.hosts[0]!.guests()).not.toContain(id)
    expect(await used()).toBe(before)
  })

  test('can be adopted again once the server that it became, or should have become, is deleted', async () => {
    const demo = cloud.as('demo')
    const [host] = cloud.hosts
    const { id } = planted()
    const isListed = async () => {
      const found = (await guests()) as readonly { readonly id: string }[]
      return found.some((guest) => guest.id === id)
    }
    const forget = async () => {
      await demo.delete(`/compute/v2.1/servers/${id}`)
      await untilGone(demo, id)
    }
    host!.fail({ method: 'adopt', effect: { do: 'fail', kind: 'internal' } })
    expect((await adopt(id)).status).toBe(202)
    await untilStatus(demo, id, 'ERROR')
    host!.fail()
    const message = expect.stringContaining('delete it and adopt the guest again')
    expect(await adopt(id)).toMatchObject({ status: 409, body: { detail: message } })
    await forget()
    expect(await isListed()).toBe(true)

    expect((await adopt(id)).status).toBe(202)
    await untilStatus(demo, id, 'ACTIVE')

    await forget()
    expect(await isListed()).toBe(false)
    planted({ id })
    expect((await adopt(id)).status).toBe(202)
    await untilStatus(demo, id, 'ACTIVE')
    await forget()
  })

  test('is not adopted if it fits no flavor, does not exist, or the caller may not adopt it', async () => {
    const { id } = planted({ vcpus: 3 })
    for (const [change, status, message] of [
      [{}, 409, 'has 3 vCPUs'],
      [{ guest: newId() }, 404, 'has no unmanaged guest'],
      [{ flavor: 'none' }, 400, 'no flavor'],
      [{ project: 'none' }, 400, 'no project'],
    ] as const)
      expect(await adopt(id, change)).toMatchObject({
        status,
        body: { detail: expect.stringContaining(message) },
      })
    expect((await cloud.as('demo').post(`${path()}/adopt`, order(id))).status).toBe(403)
    expect(await guests()).toHaveLength(1)

    const key = { 'idempotency-key': id }
    const fits = planted()
    for (const _ of ['first', 'repeat'])
      expect(await adopt(fits.id, {}, key)).toMatchObject({
        status: 202,
        body: { server_id: fits.id },
      })
    expect((await adopt(id, {}, key)).status).toBe(422)
  })

  test('is adopted by the command line, and stays switched off', async () => {
    const admin = new WeirCommand(cloud, 'admin')
    const { id } = planted({ powerState: 'shutdown' })
    const host = cloud.hosts[0]!.name
    expect(await admin.json<readonly object[]>(`host guests ${host}`)).toContainEqual(
      expect.objectContaining({ id, power_state: 'shutdown' }),
    )
    const { project } = cloud.foundation.accounts.demo
    const how = `--host ${host} --project ${project} --flavor m1.tiny --image tiny --name kept`
    expect(await admin.json(`server adopt ${id} ${how}`)).toEqual({ server_id: id })
    await untilStatus(cloud.as('demo'), id, 'SHUTOFF')
  })

  test('is adopted by its name, with its metadata and tags, and not by a name that two have', async () => {
    const demo = cloud.as('demo')
    const message = { metadata: { of: 'others' }, tags: ['blue'] }
    const { id } = planted({ name: 'by-name', ...message })
    for (const _ of [1, 2]) planted({ name: 'twin' })

    expect((await adopt('by-name')).status).toBe(202)
    await untilStatus(demo, id, 'ACTIVE')

    type Shown = { readonly server: object }
    const path = `/compute/v2.1/servers/${id}`
    expect((await demo.get<Shown>(path, { version: '2.96' })).body.server).toMatchObject(message)
    expect(await adopt('twin')).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('several guests called twin') },
    })
  })
})
