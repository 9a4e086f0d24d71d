import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { buildRequest } from '#gateway/app/sagas/build-request.ts'
import type { ServerRecord } from '#gateway/app/servers/list/server-record.ts'
import { findRequestSpec } from '#gateway/db/request-specs.ts'
import { type BootWorld, bootWorld } from '../env/boot-world.ts'

let world: BootWorld

beforeAll(async () => {
  world = await bootWorld('server_files')
})
afterAll(() => world?.[Symbol.asyncDispose]())

interface Created {
  readonly server: { readonly id: string }
}
interface Shown {
  readonly server: Readonly<Record<string, unknown>>
}
interface Refused {
  readonly [envelope: string]: { readonly code: number; readonly message: string }
}

const file = (change: object = {}) => ({ path: '/etc/motd', contents: 'aGVsbG8=', ...change })

test('files are in the build with a config drive, sealed meanwhile, and as a rebuild says', async () => {
  const { db, compute } = world.api.gateway
  const user = await world.api.user('user', 'project', 'member')
  const made = await user.call<Created>('createServer', {
    body: world.body({ personality: [file()] }),
  })
  const { id } = made.body.server
  const params = { server_id: id }
  const kept = async () => (await findRequestSpec(db, id))!
  const machineData = async () =>
    buildRequest({ secrets: compute.secrets, imageTicket: () => '' }, await kept(), newId())
  const rebuild = async (change: object) => {
    const isDone = ({ vmState, taskState }: ServerRecord) =>
      vmState === 'active' && taskState === null
    await world.until(id, isDone)
    const body = { rebuild: { imageRef: world.imageId, ...change } }
    expect((await user.call('rebuildServer', { params, body })).status).toBe(202)
  }

  await expect
    .poll(() => world.cell.builds.at(-1))
    .toMatchObject({
      build: { files: [file()], configDrive: true },
    })
  expect((await user.call<Shown>('showServer', { params })).body.server).toMatchObject({
    config_drive: 'True',
  })
  expect(JSON.stringify(await kept())).not.toContain('aGVsbG8=')

  await rebuild({ personality: [file({ path: '/other' })] })
  await expect.poll(machineData).toMatchObject({ files: [file({ path: '/other' })] })

  await rebuild({})
  await expect.poll(machineData).not.toHaveProperty('files')
})

test.each([
  ['more of them than the limit', Array.from({ length: 6 }, () => file()), /count 6 .* 5$/],
  ['a longer path', [file({ path: `/${'p'.repeat(255)}` })], /path length 256 .* 255$/],
  [
    'more content',
    [file({ contents: 'A'.repeat(13_660) })],
    /content size in bytes 10245 .* 10240$/,
  ],
])('files are refused with 403 where there is %s', async (_what, personality, message) => {
  const user = await world.api.user('other', 'other', 'member')

  const { status, body } = await user.call<Refused>('createServer', {
    body: world.body({ personality }),
  })

  expect(status).toBe(403)
  expect(body['forbidden']!.message).toMatch(message)
})
