import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { UI_PAGE } from './ui-page.ts'

const BYTES_MAX = 150_000

test('the page with all its files takes less than 150 kB compressed', () => {
  const files = [UI_PAGE.html, ...UI_PAGE.files.values()]
  expect(files.length).toBeGreaterThan(20)
  const bytes = files.map((file) => gzipSync(readFileSync(file)).length)
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(BYTES_MAX)
})

test('its policy allows nothing unsafe', () => {
  expect(UI_PAGE.policy).not.toContain('unsafe')
  expect(UI_PAGE.policy).toContain("default-src 'none'")
})
