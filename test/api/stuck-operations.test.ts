import { afterAll, beforeAll, expect, test } from 'vitest'
import { workContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import { type InstanceId, newId } from '#common/ids.ts'
import type { Saga } from '#common/saga/saga.ts'
import type { ComputeDeps } from '#gateway/app/compute.ts'
import { type DeleteServerParams, deleteServerSaga } from '#gateway/app/sagas/delete-server.ts'
import { createServer } from '#gateway/server.ts'
import { type ComputeApi, computeApi } from '#test/env/compute-api.ts'

// What an operator is told of a saga that is stuck, and how it goes on.

const no = () => Promise.reject(new Failure('internal', 'The disk is gone.'))
/** Of the same name, so that the gateway takes it up with the steps of its own, of which none has run. */
const broken: Saga<ComputeDeps, DeleteServerParams> = {
  ...deleteServerSaga,
  steps: [{ kind: 'remote', name: 'broken', run: no, undo: no }],
}

interface Reported {
  readonly id: string
  readonly state: string
  readonly message: string | null
}

let api: ComputeApi
let ask: (method: string, path: string) => Promise<{ status: number; body: unknown }>

beforeAll(async () => {
  api = await computeApi('stuck_operations')
  const { token } = await api.user('root', 'ops', 'admin')
  const app = createServer(api.gateway, ['federation'])
  ask = async (method, path) => {
    const headers = { Host: 'gw.example', 'X-Auth-Token': token }
    const answer = await app.request(`http://gw.example/federation/v1${path}`, { method, headers })
    return { status: answer.status, body: await answer.json() }
  }
})

afterAll(() => api?.[Symbol.asyncDispose]())

test("a stuck saga is listed, counted and has an event with its reason, and continues at an operator's request", async () => {
  const { compute, federationMetrics } = api.gateway
  const serverId = newId<InstanceId>()
  const params = { serverId, operationId: newId<string>(), requester: null }
  const { id, finished } = await compute.sagas.start(broken, {
    subject: serverId,
    params,
    work: workContext({}),
  })
  expect(await finished).toBe('stuck')
  const why = 'step broken could not be undone: The disk is gone.'
  const stuckCount = async () =>
    /^weir_stuck_operations (\d+)$/m.exec(await federationMetrics.text())?.[1]

  const listed = async () => {
    const { body } = await ask('GET', '/operations?state=failed')
    return (body as { operations: readonly Reported[] }).operations
  }
  expect(await listed()).toEqual([
    expect.objectContaining({ id, state: 'failed', message: expect.stringContaining(why) }),
  ])
  await expect
    .poll(async () => {
      const { body } = await ask('GET', '/events?type=operation.state&after=0')
      return (body as { events: readonly Reported[] }).events
    })
    .toEqual([
      expect.objectContaining({
        action: 'delete-server',
        state: 'stuck',
        message: `delete-server of ${serverId} is stuck: ${why}`,
      }),
    ])
  await expect.poll(stuckCount).toBe('1')

  expect(await ask('POST', `/operations/${id}/continue`)).toMatchObject({
    status: 200,
    body: { id },
  })

  await expect
    .poll(async () => (await ask('GET', `/operations/${id}`)).body)
    .toMatchObject({ state: 'failed', message: null })
  expect(await listed()).toEqual([])
  await expect.poll(stuckCount).toBe('0')
  expect(await ask('POST', `/operations/${id}/continue`)).toMatchObject({ status: 409 })
})
