import { expect, test } from 'vitest'
import { linksSource } from './links.ts'
import { nextPage, PAGE_LIMIT_MAX, pageLimit } from './pagination.ts'

const links = linksSource(
  'https://cloud.example',
  () => false,
)({
  header: () => undefined,
  peerAddress: undefined,
})
const target = { path: '/compute/v2.1/servers', search: '?limit=2&marker=a&name=x%26y' }

test('a full page links to the next: same query, another marker', () => {
  expect(nextPage(links, target, { size: 2, limit: 2, last: 'b' })).toEqual({
    rel: 'next',
    href: 'https://cloud.example/compute/v2.1/servers?limit=2&marker=b&name=x%26y',
  })
})

test.each([
  ['a short page', { size: 1, limit: 2, last: 'b' }],
  ['an empty page', { size: 0, limit: 0, last: undefined }],
])('%s links nowhere', (_name, page) => {
  expect(nextPage(links, target, page)).toBeUndefined()
})

test('a page is never larger than the maximum', () => {
  expect([undefined, 10, 5_000].map(pageLimit)).toEqual([PAGE_LIMIT_MAX, 10, PAGE_LIMIT_MAX])
})
