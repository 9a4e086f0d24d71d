import { expect, test } from 'vitest'
import { newId, type VolumeId } from '#common/ids.ts'
import type { Driver } from '#drivers/driver.ts'
import { Keyring } from '#drivers/keyring.ts'
import { withKeys } from './with-keys.ts'

const signal = AbortSignal.timeout(10_000)
const id = newId<VolumeId>()
const keys = [{ volumeId: id, key: 'secret' }]

function world() {
  const ring = new Keyring()
  const driver = { name: 'sample', volumes: { keys: ring } } as unknown as Driver
  const isHeld = () => {
    try {
      return ring.keyOf(id) === 'secret'
    } catch {
      return false
    }
  }
  return { driver, isHeld }
}

test('the driver has the keys during the work, and not after it has succeeded or failed', async () => {
  const { driver, isHeld } = world()

  expect(await withKeys(driver, { keys, holder: 'a' }, signal, async () => isHeld())).toBe(true)
  expect(isHeld()).toBe(false)
  const failed = withKeys(driver, { keys, holder: 'b' }, signal, async () => {
    throw new Error(`held: ${isHeld()}`)
  })
  await expect(failed).rejects.toThrow('held: true')
  expect(isHeld()).toBe(false)
})

test('a guest that is to come has them until later work ends that', async () => {
  const { driver, isHeld } = world()
  const none = async () => undefined

  await withKeys(driver, { keys, holder: 'guest', isKept: true }, signal, none)
  expect(isHeld()).toBe(true)
  await withKeys(driver, { keys, holder: 'another', ends: 'no guest' }, signal, none)
  expect(isHeld()).toBe(true)
  await withKeys(driver, { keys, holder: 'finish', ends: 'guest' }, signal, none)

  expect(isHeld()).toBe(false)
})

test('keys for a driver that encrypts nothing are refused, and work without keys needs no such driver', async () => {
  const driver = { name: 'sample' } as unknown as Driver
  const work = async () => 'done'

  await expect(withKeys(driver, { keys, holder: 'a' }, signal, work)).rejects.toMatchObject({
    kind: 'unsupported',
  })
  expect(await withKeys(driver, { holder: 'a' }, signal, work)).toBe('done')
})
