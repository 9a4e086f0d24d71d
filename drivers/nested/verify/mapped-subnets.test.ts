import { expect, test } from 'vitest'
import { subnetProblems } from './mapped-subnets.ts'

const mapped = (name: string, cidrs: readonly string[], there: readonly string[], id = name) => {
  return { id: name, name, cidrs, there: { id, name: `${id}-below`, cidrs: there } }
}

test.each([
  ['no subnets', [mapped('lan', [], ['10.1.0.0/24'])]],
  ['the same', [mapped('lan', ['10.1.0.0/24', 'fd00::/64'], ['fd00::/64', '10.1.0.0/24'])]],
  ['further ones there', [mapped('lan', ['10.1.0.0/24'], ['10.1.0.0/24', '10.2.0.0/24'])]],
  [
    'the same in two networks there',
    [mapped('a', ['10.1.0.0/24'], ['10.1.0.0/24']), mapped('b', ['10.1.0.0/24'], ['10.1.0.0/24'])],
  ],
])('a mapped network with %s is as ours', (_what, networks) => {
  expect(subnetProblems(networks)).toEqual([])
})

test('a subnet that the network there lacks is named, with those that it has and which of these overlap', () => {
  const other = mapped('lan', ['10.1.0.0/24', 'fd00::/64'], ['10.1.0.0/16', '10.2.0.0/24'])

  expect(subnetProblems([other])).toEqual([
    expect.stringContaining(
      'Network lan here has subnet 10.1.0.0/24, which network lan-below there lacks; it has 10.1.0.0/16, which overlaps it, 10.2.0.0/24.',
    ),
    expect.stringContaining('has subnet fd00::/64, which network lan-below there lacks'),
  ])
  expect(subnetProblems([mapped('lan', ['10.1.0.0/16'], ['10.1.2.0/24'])])).toEqual([
    expect.stringContaining('it has 10.1.2.0/24, which overlaps it.'),
  ])
  expect(subnetProblems([mapped('lan', ['10.1.0.0/16'], [])])).toEqual([
    expect.stringContaining('it has none.'),
  ])
})

test('two networks of ours that overlap are not one network there', () => {
  const both = ['10.1.0.0/24', '10.1.0.0/25']
  const networks = both.map((cidr, at) => mapped(`lan-${at}`, [cidr], both, 'provider'))

  expect(subnetProblems(networks)).toEqual([
    expect.stringContaining('Networks lan-0 and lan-1 here both have addresses of 10.1.0.0/24'),
  ])
})
