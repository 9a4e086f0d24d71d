import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { probeVirtType } from './virt-type.ts'

describe('probeVirtType()', () => {
  let stateDirectory: string
  const verdictFile = () => join(stateDirectory, 'virt-type.json')
  const probe = (qemuVersion: string) => {
    const kernel = join(stateDirectory, 'not-a-kernel')
    return probeVirtType({ stateDirectory, qemuVersion, kernel }, AbortSignal.timeout(20_000))
  }
  beforeEach(async () => {
    stateDirectory = await mkdtemp(join(tmpdir(), 'weir-virt-'))
    await writeFile(join(stateDirectory, 'not-a-kernel'), 'x')
  })
  afterEach(() => rm(stateDirectory, { recursive: true, force: true }))

  test('without a booted test kernel the type is emulation, even with a KVM device', async () => {
    expect(await probe('7.0.0')).toMatchObject({ virtType: 'qemu' })
  })

  test.skipIf(!existsSync('/dev/kvm'))(
    'a verdict holds for its kernel and QEMU, and for no other',
    async () => {
      await probe('7.0.0')
      const stored = JSON.parse(await readFile(verdictFile(), 'utf8')) as object
      const verdict = { virtType: 'kvm', why: 'it was written here' }
      await writeFile(verdictFile(), JSON.stringify({ ...stored, verdict }))

      expect(await probe('7.0.0')).toEqual(verdict)
      expect(await probe('8.0.0')).toMatchObject({ virtType: 'qemu' })
    },
  )
})
