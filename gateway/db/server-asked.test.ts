import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import type { AskedFor } from '#gateway/app/servers/boot/asked-for.ts'
import { globalDatabase } from '#test/env/indexed-servers.ts'
import { sampleServer } from '#test/env/sample-server.ts'
import { findServer } from './find-server.ts'
import { queueRequestSpecs } from './request-specs.ts'
import { NOTHING_ASKED, pinServer, queueAsked } from './server-asked.ts'
import { queueServers } from './server-index.ts'

let db: Database

beforeAll(async () => {
  db = await globalDatabase('asked')
})

afterAll(() => db?.[Symbol.asyncDispose]())

async function server(asked: AskedFor | null): Promise<string> {
  const owner = { projectId: 'p'.repeat(32), userId: 'u'.repeat(32) }
  const made = sampleServer(owner, null, { asked })
  const spec = { zone: asked?.zone ?? null } as never
  const sealed = { sealedUserData: null, sealedFiles: null, sealedPassword: null }
  await db.transaction((tx) => {
    queueServers(tx, [made])
    queueRequestSpecs(tx, [{ serverId: made.id, spec, ...sealed }])
  })
  return made.id
}

const shown = async (id: string) => (await findServer(db, id))?.asked

test('a server of which nothing was asked is bound to a zone, and freed again', async () => {
  const id = await server(null)
  expect(await shown(id)).toEqual(NOTHING_ASKED)

  expect(await pinServer(db, id, { from: null, to: 'east' })).toBe(true)
  expect(await shown(id)).toEqual({ ...NOTHING_ASKED, zone: 'east' })
  expect(await pinServer(db, id, { from: null, to: 'west' })).toBe(false)
  expect(await pinServer(db, id, { from: 'east', to: null })).toBe(true)
  expect(await shown(id)).toEqual(NOTHING_ASKED)
})

test('a later request replaces the fields of the earlier one, and the hints stay', async () => {
  const hints = { rack: ['7', '"'] }
  const imageProperties = { hw_disk_bus: 'virtio', os_type: 'linux' }
  const trustedCertificates = ['a', 'b']
  const was = { zone: 'east', hints, imageProperties, trustedCertificates }
  const [id, other] = [await server(was), await server(null)]
  const now = { zone: null, imageProperties: { os_type: "it's" }, trustedCertificates: null }

  await db.transaction((tx) => {
    queueAsked(tx, id, now)
    queueAsked(tx, other, { ...now, trustedCertificates })
  })

  expect(await shown(id)).toEqual({ ...now, hints })
  expect(await shown(other)).toEqual({ ...now, trustedCertificates, hints: {} })
})
