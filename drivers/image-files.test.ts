import { mkdtempSync, rmSync } from 'node:fs'
import { readdir, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ImageFiles } from './image-files.ts'

// Goal: the files of a cache are known as the folder has them, without reading it for each.

let folder: string
let files: ImageFiles

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-image-files-'))
  files = new ImageFiles(folder, /^[a-z]$/)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const put = async (name: string, bytes: number, usedAt = new Date()) => {
  await writeFile(join(folder, name), Buffer.alloc(bytes))
  await utimes(join(folder, name), usedAt, usedAt)
}
const names = async () => [...(await files.oldestFirst())].map(({ name }) => name)

test('those of before are in the order of their last use, and others are none of them', async () => {
  await put('a', 1, new Date(2_000))
  await put('b', 2, new Date(1_000))
  await put('other', 4)

  expect(await names()).toEqual(['b', 'a'])
  expect(await files.bytes()).toBe(3)
})

test('one that is used is the last to go, and one that is dropped is not there', async () => {
  await put('a', 1, new Date(1_000))
  await put('b', 2, new Date(2_000))
  await files.used('a', 1)
  await put('c', 4)
  await files.used('c', 4)
  await files.used('c', 4)

  expect(await names()).toEqual(['b', 'a', 'c'])
  expect(await files.bytes()).toBe(7)
  await files.drop('b')
  await files.drop('b')
  expect(await names()).toEqual(['a', 'c'])
  expect(await files.bytes()).toBe(5)
  expect(await readdir(folder)).toEqual(['a', 'c'])
})

test('one that somebody else has removed counts until the folder is read again', async () => {
  await put('a', 1, new Date(1_000))
  await put('b', 2, new Date(2_000))
  expect(await files.bytes()).toBe(3)
  rmSync(join(folder, 'a'))

  expect(await files.bytes()).toBe(3)
  await files.refresh()
  expect(await names()).toEqual(['b'])
  expect(await files.bytes()).toBe(2)
})
