import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  act,
  activeServer,
  SERVERS,
  showServer,
  untilGone,
  untilSettled,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// Acts on a guest that stays on its host: the states from which Nova accepts them, and their results.

let cloud: Cloud
let demo: ApiClient

beforeAll(async () => {
  cloud = await startCloud()
  demo = cloud.as('demo')
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

const STATES = {
  active: [],
  stopped: [{ 'os-stop': null }],
  paused: [{ pause: null }],
  suspended: [{ suspend: null }],
  rescued: [{ rescue: null }],
} as const
type State = keyof typeof STATES

/** The name in refusals, the body, and the vm states Nova takes it from (nova/compute/api.py). */
const ACTS: readonly (readonly [string, object, readonly State[]])[] = [
  ['start', { 'os-start': null }, ['stopped']],
  ['stop', { 'os-stop': null }, ['active']],
  ['reboot', { reboot: { type: 'SOFT' } }, ['active']],
  ['reboot', { reboot: { type: 'HARD' } }, ['active', 'stopped', 'paused', 'suspended']],
  ['pause', { pause: null }, ['active']],
  ['unpause', { unpause: null }, ['paused']],
  ['suspend', { suspend: null }, ['active']],
  ['resume', { resume: null }, ['suspended']],
  ['rescue', { rescue: { adminPass: 'x' } }, ['active', 'stopped']],
  ['unrescue', { unrescue: null }, ['rescued']],
  ['changePassword', { changePassword: { adminPass: 'x' } }, ['active']],
  ['trigger_crash_dump', { trigger_crash_dump: null }, ['active', 'paused', 'rescued']],
]
const version = '2.17'

async function serverIn(state: State): Promise<string> {
  const { id } = await activeServer(cloud, demo, { name: state })
  for (const step of STATES[state]) {
    await act(demo, id, step)
    await untilSettled(cloud, id)
  }
  expect((await untilSettled(cloud, id))['OS-EXT-STS:vm_state']).toBe(state)
  return id
}

test.each(Object.keys(STATES) as State[])(
  'a server that is %s refuses with 409 what Nova refuses, in its words',
  async (state) => {
    const id = await serverIn(state)

    for (const [name, body] of ACTS.filter(([, , from]) => !from.includes(state))) {
      const answer = await act(demo, id, body, { version })
      expect([name, answer.status, answer.body]).toEqual([
        name,
        409,
        {
          conflictingRequest: {
            code: 409,
            message: `Cannot '${name}' instance ${id} while it is in vm_state ${state}`,
          },
        },
      ])
    }
    expect((await showServer(cloud.as('admin'), id))['OS-EXT-STS:vm_state']).toBe(state)
    await demo.delete(`${SERVERS}/${id}`)
  },
)

describe('an accepted act', () => {
  test('goes through its states, is recorded under its name, and reaches the guest', async () => {
    const { id } = await activeServer(cloud, demo)
    const moves = [
      [{ suspend: null }, 'SUSPENDED', 4],
      [{ resume: null }, 'ACTIVE', 1],
      [{ rescue: null }, 'RESCUE', 1],
      [{ unrescue: null }, 'ACTIVE', 1],
      [{ changePassword: { adminPass: 'secret' } }, 'ACTIVE', 1],
      [{ pause: null }, 'PAUSED', 3],
      [{ trigger_crash_dump: null }, 'PAUSED', 3],
    ] as const

    for (const [action, status, power] of moves) {
      const asked = await act(demo, id, action, { version })
      expect([action, asked.status]).toEqual([action, 'rescue' in action ? 200 : 202])
      const server = await untilSettled(cloud, id)
      expect([action, server.status, server['OS-EXT-STS:power_state']]).toEqual([
        action,
        status,
        power,
      ])
    }

    const { body } = await act(demo, id, { 'os-getConsoleOutput': {} })
    expect(body['output']).toMatch(
      /suspended.*resumed.*rescued with image.*unrescued.*password changed.*paused.*interrupt/s,
    )
    expect(JSON.stringify(body)).not.toContain('secret')
    const list = await demo.get<{ instanceActions: readonly { readonly action: string }[] }>(
      `${SERVERS}/${id}/os-instance-actions`,
    )
    expect(list.body.instanceActions.map(({ action }) => action)).toEqual([
      'trigger_crash_dump',
      'pause',
      'changePassword',
      'unrescue',
      'rescue',
      'resume',
      'suspend',
      'create',
    ])
    await demo.delete(`${SERVERS}/${id}`)
    await expectInvariants(cloud)
  })

  test('a rescue returns its password, which is the requested or a new one', async () => {
    const { id } = await activeServer(cloud, demo)

    const made = await act(demo, id, { rescue: { rescue_image_ref: cloud.catalog.image } })
    await untilSettled(cloud, id)
    await act(demo, id, { unrescue: null })
    await untilSettled(cloud, id)
    const own = await act(demo, id, { rescue: { adminPass: 'hunter22' } })

    expect(made.body['adminPass']).toMatch(/^\S{8,}$/)
    expect(own.body).toEqual({ adminPass: 'hunter22' })
    await untilSettled(cloud, id)
    await demo.delete(`${SERVERS}/${id}`)
  })

  test('a rescue image that cannot be used is 400, and nothing has happened', async () => {
    const { id } = await activeServer(cloud, demo)
    const ref = '3f2504e0-4f89-41d3-9a0c-0305e82c3301'

    const answer = await act(demo, id, { rescue: { rescue_image_ref: ref } })

    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({
      badRequest: { message: `Requested rescue image '${ref}' is not supported` },
    })
    expect((await showServer(demo, id)).status).toBe('ACTIVE')
    await demo.delete(`${SERVERS}/${id}`)
  })

  test('a password that the guest does not take is 409 with the reason', async () => {
    const { id } = await activeServer(cloud, demo)
    const message = 'QEMU guest agent is not enabled'
    const effect = { do: 'fail', kind: 'conflict', message } as const
    for (const host of cloud.hosts) host.fail({ method: 'setPassword', effect })

    const answer = await act(demo, id, { changePassword: { adminPass: 'x' } })

    expect(answer.status).toBe(409)
    expect(answer.body).toMatchObject({ conflictingRequest: { message } })
    for (const host of cloud.hosts) host.fail()
    await demo.delete(`${SERVERS}/${id}`)
  })
})

describe('a lock', () => {
  test('refuses acts of its owner, but not of administrators, nor those that Nova allows', async () => {
    const { id } = await activeServer(cloud, demo)
    const admin = cloud.as('admin')
    const lock = { lock: { locked_reason: 'mine' } }
    expect((await act(demo, id, lock, { version: '2.73' })).status).toBe(202)
    const locked = await showServer(demo, id, '2.73')
    expect([locked['locked'], locked['locked_reason']]).toEqual([true, 'mine'])

    for (const [, body] of ACTS) {
      const answer = await act(demo, id, body, { version })
      expect([body, answer.status]).toEqual([body, 409])
      expect(answer.body).toMatchObject({
        conflictingRequest: { message: `Instance ${id} is locked` },
      })
    }
    expect((await demo.delete(`${SERVERS}/${id}`)).status).toBe(409)
    expect((await act(admin, id, { pause: null })).status).toBe(202)
    await untilSettled(cloud, id)

    expect((await act(demo, id, { unlock: null })).status).toBe(202)
    expect((await act(demo, id, { unpause: null })).status).toBe(202)
    await untilSettled(cloud, id)
    const actions = await demo.get<{ instanceActions: readonly { readonly action: string }[] }>(
      `${SERVERS}/${id}/os-instance-actions`,
    )
    expect(actions.body.instanceActions.map(({ action }) => action)).toEqual([
      'unpause',
      'unlock',
      'pause',
      'lock',
      'create',
    ])
    await demo.delete(`${SERVERS}/${id}`)
  })

  test('of an administrator is opened by administrators only', async () => {
    const { id } = await activeServer(cloud, demo)
    const admin = cloud.as('admin')
    await act(admin, id, { lock: null })

    expect((await act(demo, id, { unlock: null })).status).toBe(403)
    expect((await showServer(demo, id, '2.9'))['locked']).toBe(true)
    expect((await act(admin, id, { unlock: null })).status).toBe(202)
    expect((await showServer(demo, id, '2.9'))['locked']).toBe(false)
    await demo.delete(`${SERVERS}/${id}`)
  })
})

describe('repairs by administrators', () => {
  test('a state can be reset, and a server in ERROR stopped, rescued or deleted', async () => {
    const { id } = await activeServer(cloud, demo)
    const admin = cloud.as('admin')

    expect((await act(demo, id, { 'os-resetState': { state: 'error' } })).status).toBe(403)
    expect((await act(admin, id, { 'os-resetState': { state: 'error' } })).status).toBe(202)
    expect((await showServer(demo, id)).status).toBe('ERROR')
    expect((await act(demo, id, { pause: null })).status).toBe(409)
    expect((await act(admin, id, { 'os-resetState': { state: 'active' } })).status).toBe(202)
    expect((await showServer(demo, id)).status).toBe('ACTIVE')
    await demo.delete(`${SERVERS}/${id}`)
  })

  test('a reset frees a server from an act that its unreachable host has not answered', async () => {
    const { id } = await activeServer(cloud, demo)
    for (const host of cloud.hosts) host.fail({ method: 'pause', effect: { do: 'hang' } })
    expect((await act(demo, id, { pause: null })).status).toBe(202)
    expect((await showServer(demo, id))['OS-EXT-STS:task_state']).toBe('pausing')

    expect(
      (await act(cloud.as('admin'), id, { 'os-resetState': { state: 'active' } })).status,
    ).toBe(202)

    const server = await showServer(demo, id)
    expect([server.status, server['OS-EXT-STS:task_state']]).toEqual(['ACTIVE', null])
    for (const host of cloud.hosts) host.fail()
    await demo.delete(`${SERVERS}/${id}`)
  })

  test('network information is injected nowhere, and networks are reset no more', async () => {
    const { id } = await activeServer(cloud, demo)
    const admin = cloud.as('admin')

    expect((await act(admin, id, { injectNetworkInfo: null })).status).toBe(202)
    expect((await act(admin, id, { resetNetwork: null })).status).toBe(410)
    await demo.delete(`${SERVERS}/${id}`)
  })
})

test('a server is never kept for later: none can be restored, and force means delete', async () => {
  const { id } = await activeServer(cloud, demo)

  const restored = await act(demo, id, { restore: null })
  expect([restored.status, restored.body]).toMatchObject([
    409,
    {
      conflictingRequest: {
        message: `Cannot 'restore' instance ${id} while it is in vm_state active`,
      },
    },
  ])
  expect((await act(demo, id, { forceDelete: null })).status).toBe(202)
  await untilGone(demo, id)
})

test('the inside of a guest', async () => {
  const { id } = await activeServer(cloud, demo)
  const admin = cloud.as('admin')
  const at = (what: string) => `${SERVERS}/${id}/${what}`

  expect((await demo.get(at('os-server-password'))).body).toEqual({ password: '' })
  expect((await demo.delete(at('os-server-password'))).status).toBe(204)
  expect((await demo.get(at('topology'), { version: '2.77' })).status).toBe(404)
  expect((await demo.get(at('topology'), { version: '2.78' })).body).toEqual({
    nodes: [],
    pagesize_kb: null,
  })
  expect((await demo.get(at('diagnostics'))).status).toBe(403)
  expect((await admin.get(at('diagnostics'))).body).toMatchObject({ cpu0_time: 1_000_000_000 })
  expect((await admin.get(at('diagnostics'), { version: '2.48' })).body).toMatchObject({
    state: 'running',
    config_drive: false,
    num_cpus: 1,
    memory_details: { maximum: 128 },
    nic_details: [{ rx_rate: null }],
  })
  await act(demo, id, { 'os-stop': null })
  await untilSettled(cloud, id)
  const off = await admin.get(at('diagnostics'), { version: '2.48' })
  expect([off.status, off.body]).toMatchObject([
    409,
    { conflictingRequest: { message: expect.stringContaining("Cannot 'get_diagnostics'") } },
  ])
  await demo.delete(`${SERVERS}/${id}`)
})
