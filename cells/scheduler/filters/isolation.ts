import type { HostFilter, KindFilter } from '../filter.ts'
import { aggregateValues } from './aggregate-values.ts'

/** Refuses hosts in whose aggregates a property of the image has other values; an image without the property passes, as in Nova. */
export const aggregateImagePropertiesIsolation: KindFilter = {
  name: 'AggregateImagePropertiesIsolation',
  by: 'kind',
  runs: 'named',
  runsOnRebuild: true,
  refuse: ({ aggregates }, { image: { properties } }, { imagePropertiesPrefix }) => {
    for (const key of new Set(aggregates.flatMap(({ metadata }) => Object.keys(metadata)))) {
      if (!key.startsWith(imagePropertiesPrefix)) continue
      const own = Object.hasOwn(properties, key) ? properties[key]! : ''
      if (own === '') continue
      const allowed = aggregateValues(aggregates, key)
      if (!allowed.includes(own)) return `is in aggregates where ${key} is ${allowed.join(', ')}`
    }
    return undefined
  },
}

/** Keeps named images on named hosts, and other images off these hosts unless an operator lets them in. */
export const isolatedHostsFilter: HostFilter = {
  name: 'IsolatedHostsFilter',
  runs: 'named',
  runsOnRebuild: true,
  refuse: ({ name }, { image }, { isolatedHosts, isolatedImages, areIsolatedHostsRestricted }) => {
    const isHostIsolated = isolatedHosts.includes(name)
    const isImageIsolated = isolatedImages.includes(image.id ?? '')
    if (isImageIsolated && !isHostIsolated) return 'is not a host for isolated images'
    if (isHostIsolated && !isImageIsolated && areIsolatedHostsRestricted)
      return 'is kept for isolated images'
    return undefined
  },
}
