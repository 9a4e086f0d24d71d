import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import type { RequestedProperties } from '#gateway/app/servers/boot/requested-properties.ts'
import { globalDatabase } from '#test/env/indexed-servers.ts'
import { sampleServer } from '#test/env/sample-server.ts'
import { findServer } from './find-server.ts'
import { queueRequestSpecs } from './request-specs.ts'
import {
  NO_REQUESTED_PROPERTIES,
  pinServer,
  queueRequestedProperties,
} from './requested-properties.ts'
import { queueServers } from './server-index.ts'

let db: Database

beforeAll(async () => {
  db = await globalDatabase('requested')
})

afterAll(() => db?.[Symbol.asyncDispose]())

async function server(requested: RequestedProperties | null): Promise<string> {
  const owner = { projectId: 'p'.repeat(32), userId: 'u'.repeat(32) }
  const made = sampleServer(owner, null, { requested })
  const spec = { zone: requested?.zone ?? null } as never
  const sealed = { sealedUserData: null, sealedFiles: null, sealedPassword: null }
  await db.transaction((tx) => {
    queueServers(tx, [made])
    queueRequestSpecs(tx, [{ serverId: made.id, spec, ...sealed }])
  })
  return made.id
}

const shown = async (id: string) => (await findServer(db, id))?.requested

test('a server whose request set no properties is bound to a zone, and freed again', async () => {
  const id = await server(null)
  expect(await shown(id)).toEqual(NO_REQUESTED_PROPERTIES)

  expect(await pinServer(db, id, { from: null, to: 'east' })).toBe(true)
  expect(await shown(id)).toEqual({ ...NO_REQUESTED_PROPERTIES, zone: 'east' })
  expect(await pinServer(db, id, { from: null, to: 'west' })).toBe(false)
  expect(await pinServer(db, id, { from: 'east', to: null })).toBe(true)
  expect(await shown(id)).toEqual(NO_REQUESTED_PROPERTIES)
})

test('a later request replaces the fields of the earlier one, and the hints stay', async () => {
  const hints = { rack: ['7', '"'] }
  const imageProperties = { hw_disk_bus: 'virtio', os_type: 'linux' }
  const trustedCertificates = ['a', 'b']
  const was = { zone: 'east', hints, imageProperties, trustedCertificates }
  const [id, other] = [await server(was), await server(null)]
  const now = { zone: null, imageProperties: { os_type: "it's" }, trustedCertificates: null }

  await db.transaction((tx) => {
    queueRequestedProperties(tx, id, now)
    queueRequestedProperties(tx, other, { ...now, trustedCertificates })
  })

  expect(await shown(id)).toEqual({ ...now, hints })
  expect(await shown(other)).toEqual({ ...now, trustedCertificates, hints: {} })
})
