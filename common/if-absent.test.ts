import { readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { ifAbsent } from './if-absent.ts'

test('ifAbsent() gives the fallback value for a missing file', async () => {
  expect(await readFile('/nowhere/file', 'utf8').catch(ifAbsent(''))).toBe('')
})

test('ifAbsent() lets any other failure go on', async () => {
  await expect(readdir('/dev/null').catch(ifAbsent([]))).rejects.toMatchObject({ code: 'ENOTDIR' })
})
