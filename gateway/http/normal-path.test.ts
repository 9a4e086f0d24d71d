import { expect, test } from 'vitest'
import type { ProjectId } from '#common/ids.ts'
import { ANONYMOUS } from '../app/request-context.ts'
import { normalPath, refuseForeignProject } from './normal-path.ts'

const HEX = '0123456789abcdef0123456789abcdef'
const UUID = '01234567-89ab-cdef-0123-456789abcdef'

test.each([
  ['/', '/identity'],
  ['/v3', '/identity/v3'],
  ['/v3/auth/tokens', '/identity/v3/auth/tokens'],
  ['/identity/', '/identity'],
  ['/v3x', '/v3x'],
  ['/compute/v2.1/', '/compute/v2.1'],
  ['/compute/v2.1/servers/', '/compute/v2.1/servers/'],
  ['/compute/v2', '/compute/v2'],
  ['/compute/v2/', '/compute/v2'],
  ['/compute/v2.2/', '/compute/v2.2'],
  [`/compute/v2/${HEX}/servers/detail`, '/compute/v2.1/servers/detail'],
  [`/compute/v2.1/${HEX}/`, '/compute/v2.1'],
  [`/compute/v2.1/${HEX}/servers?limit=1`, '/compute/v2.1/servers'],
  [`/compute/v2.1/${UUID}/servers/${UUID}`, `/compute/v2.1/servers/${UUID}`],
  [`/compute/v2.1/${HEX}`, '/compute/v2.1'],
  [`/compute/v2.1/servers/${UUID}`, `/compute/v2.1/servers/${UUID}`],
  ['/image/v2/images/', '/image/v2/images/'],
  ['/image/v2/schemas/', '/image/v2/schemas'],
  ['/networking/v2.0/security-groups.json?name=x', '/networking/v2.0/security-groups'],
  [`/networking/v2.0/quotas/${HEX}/details.json`, `/networking/v2.0/quotas/${HEX}/details`],
  [`/networking/v2.0/ports/${UUID}/tags/a.json`, `/networking/v2.0/ports/${UUID}/tags/a.json`],
  [`/compute/v2.1//${HEX}//servers`, '/compute/v2.1/servers'],
  ['/volume/', '/volume'],
  ['/volume/v3/', '/volume/v3'],
  [`/volume/v3/${HEX}/`, '/volume/v3'],
  [`/volume/v3/${HEX}/types?is_public=None`, '/volume/v3/types'],
  [`/volume/v3/types/${UUID}`, `/volume/v3/types/${UUID}`],
])('%s is routed as %s', (path, expected) => {
  expect(normalPath(new Request(`http://cloud.test${path}`))).toBe(expected)
})

test('the root of a browser is a page', () => {
  const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
  expect(normalPath(new Request('http://cloud.test/', { headers }))).toBe('/ui')
  expect(normalPath(new Request('http://cloud.test/v3', { headers }))).toBe('/identity/v3')
})

test('a project in the URL must be the one of the token', () => {
  const caller = { ...ANONYMOUS, projectId: HEX as ProjectId }
  const ask = (path: string) =>
    refuseForeignProject(new Request(`http://cloud.test${path}`), caller)

  expect(() => ask(`/compute/v2.1/${HEX}/servers`)).not.toThrow()
  expect(() => ask('/compute/v2.1/servers')).not.toThrow()
  expect(() => ask(`/compute/v2.1/${UUID}/servers`)).toThrow('Malformed request URL')
  expect(() => ask(`/compute/v2.1//${UUID}/servers`)).toThrow('Malformed request URL')
  expect(() => ask(`/volume/v3/${HEX}/types`)).not.toThrow()
  expect(() => ask(`/volume/v3/types/${UUID}`)).not.toThrow()
  expect(() => ask(`/volume/v3/${UUID}/types`)).toThrow('Malformed request URL')
})
