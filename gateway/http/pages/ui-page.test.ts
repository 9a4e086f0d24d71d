import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { Hono } from 'hono'
import { beforeAll, expect, test } from 'vitest'
import { linksSource } from '../links.ts'
import { registerPage } from './page.ts'
import { UI_PAGE } from './ui-page.ts'

const BYTES_MAX = 150_000

let app: Hono

beforeAll(() => {
  app = new Hono()
  registerPage(
    app,
    UI_PAGE,
    linksSource(undefined, () => false),
  )
})

async function served(path: string, headers: Record<string, string>) {
  const answer = await app.request(`http://cloud.test${path}`, { headers })
  return { answer, bytes: Buffer.from(await answer.arrayBuffer()) }
}

test('the page with all its files is served compressed, in less than 150 kB', async () => {
  expect(UI_PAGE.files.size).toBeGreaterThan(20)
  let sum = 0
  for (const path of ['/ui', ...[...UI_PAGE.files.keys()].map((name) => `/ui/${name}`)]) {
    const { answer, bytes } = await served(path, { 'accept-encoding': 'gzip, br' })
    expect(answer.headers.get('content-encoding'), path).toBe('gzip')
    expect(answer.headers.get('vary'), path).toBe('Accept-Encoding')
    expect(gunzipSync(bytes).length, path).toBeGreaterThan(0)
    sum += bytes.length
  }
  expect(sum).toBeLessThan(BYTES_MAX)
})

test('a browser that takes nothing compressed gets the files as they are', async () => {
  for (const [name, file] of UI_PAGE.files) {
    const { answer, bytes } = await served(`/ui/${name}`, {})
    expect(answer.headers.get('content-encoding'), name).toBeNull()
    expect(bytes.equals(readFileSync(file)), name).toBe(true)
  }
})

test('its policy allows nothing unsafe', () => {
  expect(UI_PAGE.policy).not.toContain('unsafe')
  expect(UI_PAGE.policy).toContain("default-src 'none'")
})
