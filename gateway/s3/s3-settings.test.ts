import { expect, test } from 'vitest'
import { EnvReader } from '#common/env.ts'
import { assertS3, readS3, type S3Settings } from './s3-settings.ts'

const keys = { GATEWAY_IMAGES_S3_ACCESS_KEY: 'key', GATEWAY_IMAGES_S3_SECRET_KEY: 'secret' }

function settingsOf(more: Readonly<Record<string, string>>): S3Settings | undefined {
  const read = new EnvReader(more, 'GATEWAY_')
  const settings = readS3(read)
  read.finish()
  if (settings !== undefined) assertS3(settings)
  return settings
}

test('images are in a directory unless a bucket is named', () => {
  expect(settingsOf({})).toBeUndefined()
  expect(settingsOf({ ...keys, GATEWAY_IMAGES: 's3://images' })).toEqual({
    endpoint: 'https://s3.us-east-1.amazonaws.com',
    region: 'us-east-1',
    bucket: 'images',
    prefix: '',
    accessKey: 'key',
    secretKey: 'secret',
    isDirect: false,
  })
  expect(
    settingsOf({
      ...keys,
      GATEWAY_IMAGES: 's3://images/region/one',
      GATEWAY_IMAGES_S3_ENDPOINT: 'http://192.0.2.1:7480/',
      GATEWAY_IMAGES_S3_REGION: 'eu',
      GATEWAY_IMAGES_S3_DIRECT: 'true',
    }),
  ).toMatchObject({ endpoint: 'http://192.0.2.1:7480', prefix: 'region/one/', isDirect: true })
})

test.each([
  ['/var/lib/images', 's3://BUCKET or s3://BUCKET/PREFIX is needed'],
  ['s3://', 's3://BUCKET or s3://BUCKET/PREFIX is needed'],
  ['s3://UPPER', 's3://BUCKET or s3://BUCKET/PREFIX is needed'],
])('the location %s is refused', (location, why) => {
  expect(() => settingsOf({ ...keys, GATEWAY_IMAGES: location })).toThrow(why)
})

test('a key is needed, and the endpoint is a URL', () => {
  expect(() => settingsOf({ GATEWAY_IMAGES: 's3://images' })).toThrow(
    'GATEWAY_IMAGES_S3_SECRET_KEY is not set',
  )
  const wrong = { ...keys, GATEWAY_IMAGES: 's3://images', GATEWAY_IMAGES_S3_ENDPOINT: 's3.example' }
  expect(() => settingsOf(wrong)).toThrow('s3.example is not an http(s) URL')
})
