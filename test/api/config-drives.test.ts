import { afterAll, beforeAll, expect, test } from 'vitest'
import { findRequestSpec } from '#gateway/db/request-specs.ts'
import { images } from '#gateway/db/schema/image.ts'
import { type BootWorld, bootWorld } from '../env/boot-world.ts'

// Goal: a server has a config drive if its user, its image or the operator requests one, and the API shows it.

let usual: BootWorld
let forced: BootWorld

beforeAll(async () => {
  usual = await bootWorld('config_drives')
  forced = await bootWorld('config_drives_forced', { GATEWAY_FORCE_CONFIG_DRIVE: 'true' })
})
afterAll(async () => {
  await usual?.[Symbol.asyncDispose]()
  await forced?.[Symbol.asyncDispose]()
})

/** As the user sees it, and as the server is built. */
async function driveOf(
  world: BootWorld,
  change: Readonly<Record<string, unknown>> = {},
): Promise<readonly unknown[]> {
  const user = await world.api.user('user', 'project', 'member')
  const body = world.body(change)
  const made = await user.call<{ server: { id: string } }>('createServer', { body })
  const { id } = made.body.server
  const params = { server_id: id }
  const shown = await user.call<{ server: { config_drive: string } }>('showServer', { params })
  const request = await findRequestSpec(world.api.gateway.db, id)
  return [shown.body.server.config_drive, request?.spec.configDrive]
}

test('a server has a config drive if it is asked for', async () => {
  expect(await driveOf(usual)).toEqual(['', false])
  expect(await driveOf(usual, { config_drive: true })).toEqual(['True', true])
})

test('where the operator forces config drives every server has one', async () => {
  expect(await driveOf(forced)).toEqual(['True', true])
  expect(await driveOf(forced, { config_drive: false })).toEqual(['True', true])
})

test('an image may make it mandatory', async () => {
  await usual.api.gateway.db.orm
    .update(images)
    .set({ properties: { img_config_drive: 'mandatory' } })

  expect(await driveOf(usual)).toEqual(['True', true])
})
