import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApiClient } from '#test/env/api/client.ts'
import { act, activeServer, SERVERS, showServer, untilSettled } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// What is done to a guest where it is: from which states Nova takes it, and what comes of it.

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

describe('what is taken', () => {
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

  test('a rescue tells its password, which is the one asked for or a new one', async () => {
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
