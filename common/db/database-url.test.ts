import { expect, test } from 'vitest'
import { databaseUrls } from './database-url.ts'

test.each([
  ['mysql://u:p@db/weir', ['mysql://u:p@db/weir']],
  ['mysql://u:p@a:3306,b:3307/weir', ['mysql://u:p@a:3306/weir', 'mysql://u:p@b:3307/weir']],
  ['mysql://u:p@[::1]:1, [::2]:2/', ['mysql://u:p@[::1]:1/', 'mysql://u:p@[::2]:2/']],
])('%s names its servers', (text, urls) => {
  expect(databaseUrls(text)).toEqual(urls)
})

test.each([
  '',
  'weir',
  'postgres://u:p@a/weir',
  'mysql://u:secret@a:x/weir',
  'mysql://u:secret@a,,b/weir',
])('%s is refused, without its password', (text) => {
  expect(() => databaseUrls(text)).toThrow(/mysql:\/\/USER:PASSWORD@HOST:PORT\/DATABASE/)
  expect(() => databaseUrls(text)).not.toThrow(/secret/)
})
