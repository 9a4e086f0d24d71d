import { expect, test } from 'vitest'
import { checkImportAddress, checkImportUrl, type ImportRules } from './import-url.ts'

const rules: ImportRules = {
  hosts: [],
  ports: [80, 443],
  networks: [],
  timeoutMs: 1_000,
  bytesPerSecondMin: 0,
}

test.each([
  'http://images.example.org/a.qcow2',
  'https://images.example.org:443/a',
  'http://203.0.114.1/a',
])('checkImportUrl() allows %s', (url) => {
  expect(checkImportUrl(url, rules).href).toContain('/a')
})

test.each([
  'file:///etc/passwd',
  'ftp://images.example.org/a',
  'gopher://images.example.org/a',
  'nonsense',
  'http://user:secret@images.example.org/a',
  'http://images.example.org:22/a',
  'http://127.0.0.1/a',
  'http://0x7f.1/a',
  'http://2130706433/a',
  'http://169.254.169.254/latest/meta-data',
  'http://10.0.0.1/a',
  'http://100.64.0.1/a',
  'http://0.0.0.0/a',
  'http://[::1]/a',
  'http://[::]/a',
  'http://[fe80::1]/a',
  'http://[fd00::1]/a',
  'http://[::ffff:127.0.0.1]/a',
  'http://[64:ff9b::7f00:1]/a',
  'http://[2002:7f00:1::]/a',
])('checkImportUrl() refuses %s', (url) => {
  expect(() => checkImportUrl(url, rules)).toThrow('does not pass filtering')
})

test('checkImportUrl() holds to the hosts and ports that are listed', () => {
  const narrow = { ...rules, hosts: ['a.example.org', '.b.example.org'], ports: [8080] }

  expect(() => checkImportUrl('http://a.example.org:8080/x', narrow)).not.toThrow()
  expect(() => checkImportUrl('http://deep.b.example.org:8080/x', narrow)).not.toThrow()
  expect(() => checkImportUrl('http://evil-b.example.org:8080/x', narrow)).toThrow('not allowed')
  expect(() => checkImportUrl('http://a.example.org/x', narrow)).toThrow('port 80')
})

test('checkImportAddress() lets through blocks that are listed', () => {
  const inside = { ...rules, networks: ['10.1.0.0/16'] }

  expect(() => checkImportAddress('10.1.2.3', inside)).not.toThrow()
  expect(() => checkImportAddress('10.2.2.3', inside)).toThrow('not public')
})
