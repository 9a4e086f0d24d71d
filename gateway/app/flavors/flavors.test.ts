import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { type Flavor, insertFlavor } from '../../db/flavors.ts'
import { flavorAccess } from '../../db/schema/resources.ts'
import { flavorForBoot } from './flavors.ts'

let db: Database
const stranger = { projectId: 'p', isAdmin: false }

const tiny: Flavor = {
  id: 'tiny',
  name: 'm1.tiny',
  vcpus: 1,
  memoryMb: 128,
  rootGb: 1,
  ephemeralGb: 0,
  swapMb: 0,
  rxtxFactor: 1,
  isPublic: true,
  isDisabled: false,
  description: null,
  extraSpecs: { 'hw:cpu_policy': 'shared' },
  createdAt: new Date(),
  updatedAt: null,
}

beforeAll(async () => {
  const url = await migratedDatabase('flavor_for_boot', 'gateway')
  db = new Database({ url, connectionsMax: 2 })
  await insertFlavor(db, tiny)
  await insertFlavor(db, { ...tiny, id: 'hidden', name: 'hidden', isPublic: false })
  await insertFlavor(db, { ...tiny, id: 'off', name: 'off', isDisabled: true })
  await db.orm.insert(flavorAccess).values({ flavorId: 'hidden', projectId: 'friends' })
})

afterAll(() => db?.[Symbol.asyncDispose]())

test('flavorForBoot() finds a flavor by id, and by a link that ends in it', async () => {
  const byId = await flavorForBoot(db, stranger, 'tiny')

  expect(byId).toEqual({
    id: 'tiny',
    name: 'm1.tiny',
    vcpus: 1,
    memoryMb: 128,
    rootGb: 1,
    ephemeralGb: 0,
    swapMb: 0,
    extraSpecs: { 'hw:cpu_policy': 'shared' },
  })
  expect(await flavorForBoot(db, stranger, 'http://gw/flavors/tiny')).toEqual(byId)
})

test('flavorForBoot() finds a private flavor only for projects with access', async () => {
  const friend = { projectId: 'friends', isAdmin: false }
  expect(await flavorForBoot(db, friend, 'hidden')).toHaveProperty('id', 'hidden')
  await expect(flavorForBoot(db, stranger, 'hidden')).rejects.toMatchObject({
    kind: 'invalid',
    message: 'Flavor hidden could not be found.',
  })
})

test('flavorForBoot() finds any private flavor for an administrator', async () => {
  const admin = { projectId: 'p', isAdmin: true }
  expect(await flavorForBoot(db, admin, 'hidden')).toHaveProperty('id', 'hidden')
})

test.each(['off', 'M1.TINY', ''])('flavorForBoot() refuses the flavor %j', async (flavorRef) => {
  await expect(flavorForBoot(db, stranger, flavorRef)).rejects.toMatchObject({
    kind: 'invalid',
  })
})
