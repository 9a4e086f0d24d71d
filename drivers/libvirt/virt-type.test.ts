import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { probeVirtType } from './virt-type.ts'

describe('probeVirtType()', () => {
  let stateDirectory: string
  const verdictFile = () => join(stateDirectory, 'virt-type.json')
  const probe = (qemuVersion: number) => {
    const kernel = join(stateDirectory, 'not-a-kernel')
    return probeVirtType({ stateDirectory, qemuVersion, kernel }, AbortSignal.timeout(20_000))
  }
  beforeEach(async () => {
    stateDirectory = await mkdtemp(join(tmpdir(), 'weir-virt-'))
    await writeFile(join(stateDirectory, 'not-a-kernel'), 'x')
  })
  afterEach(() => rm(stateDirectory, { recursive: true, force: true }))

  test('what did not boot a kernel is emulation, device or not', async () => {
    expect(await probe(7_000_000)).toBe('qemu')
  })

  test.skipIf(!existsSync('/dev/kvm'))(
    'a verdict holds for its kernel and QEMU, and for no other',
    async () => {
      await probe(7_000_000)
      const verdict = JSON.parse(await readFile(verdictFile(), 'utf8')) as object
      await writeFile(verdictFile(), JSON.stringify({ ...verdict, virtType: 'kvm' }))

      expect(await probe(7_000_000)).toBe('kvm')
      expect(await probe(8_000_000)).toBe('qemu')
    },
  )
})
