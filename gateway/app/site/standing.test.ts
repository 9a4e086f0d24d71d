import { expect, test } from 'vitest'
import type { ActiveSite } from '../../db/sites.ts'
import { type Standing, standingOf } from './standing.ts'

const SITES = ['north', 'south'].map((name) => ({ name, url: `https://${name}`, databases: '' }))
const recorded = (name: string, more: Partial<ActiveSite> = {}): ActiveSite => ({
  name,
  generation: 3,
  successor: undefined,
  ...more,
})
const SUCCESSOR = { name: 'south', url: 'https://south', generation: 4 }

test.each<[string, string | undefined, ActiveSite | undefined, Partial<Standing>]>([
  ['without a name', undefined, undefined, { is: 'active', generation: 1 }],
  ['without a copy', 'north', undefined, { is: 'standby', active: undefined }],
  ['that is recorded', 'north', recorded('north'), { is: 'active', generation: 3 }],
  ['beside the active one', 'south', recorded('north'), { is: 'standby', active: SITES[0] }],
  [
    'that was succeeded',
    'north',
    recorded('north', { successor: SUCCESSOR }),
    { is: 'standby', active: { name: 'south', url: 'https://south' } },
  ],
])('a site %s', (_what, own, row, standing) => {
  expect(standingOf(own, row, SITES)).toMatchObject(standing)
})
