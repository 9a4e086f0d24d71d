import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { checkCloudUrl, checkedLookup } from './check-address.ts'

const STRICT = { networks: [], allowsHttp: true }
const LOCAL = { networks: ['127.0.0.0/8', '::1/128'], allowsHttp: true }

test.each([
  'http://127.0.0.1/',
  'http://127.1/',
  'http://2130706433/',
  'http://0x7f.0.0.1/',
  'http://0177.0.0.1/',
  'http://0.0.0.0/',
  'http://[::1]/',
  'http://[::]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:a9fe:a9fe]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://169.254.169.254/latest/meta-data',
  'http://2852039166/',
  'http://0251.0376.0251.0376/',
  'http://[fe80::1]/',
  'http://[fd00:ec2::254]/',
  'http://10.0.0.1/',
  'http://192.168.1.1/',
  'http://100.64.0.1/',
  'file:///etc/passwd',
  'gopher://192.0.2.1/',
  'http://user:secret@cloud.example/',
  'no url',
])('no token is sent to %s', (url) => {
  expect(() => checkCloudUrl('auth_url', url, STRICT)).toThrow(/^auth_url: /)
})

test('plain HTTP and addresses that are not public are for those who allow them', () => {
  const tls = { networks: [], allowsHttp: false }
  expect(() => checkCloudUrl('auth_url', 'http://93.184.216.34/', tls)).toThrow('allow_http')
  expect(checkCloudUrl('auth_url', 'https://cloud.example:5000/v3', tls).port).toBe('5000')
  for (const url of ['http://127.0.0.1/', 'http://[::1]/', 'http://[::ffff:127.0.0.1]/'])
    expect(() => checkCloudUrl('auth_url', url, LOCAL)).not.toThrow()
})

test.each(['localhost', 'localhost.', 'ip6-localhost'])(
  'the name %s leads nowhere that is not public',
  async (host) => {
    const socket = connect({ host, port: 9, lookup: checkedLookup(STRICT) })
    const [error] = (await once(socket, 'error')) as [Error]

    expect(error.message).toMatch(/which is not public|ENOTFOUND|EAI_AGAIN/)
  },
)
