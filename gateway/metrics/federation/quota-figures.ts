import type { Registry } from 'prom-client'
import { type Sample, sampledGauge } from '#common/metrics/sampled-gauge.ts'
import type { ProjectQuotas } from './read-projects.ts'

interface Figure {
  readonly name: string
  readonly help: string
  readonly value: (project: ProjectQuotas) => number
}

/** Units are those of openstack-exporter: memory in MiB; without a limit, -1. */
const LIMITS: readonly Figure[] = [
  ...(
    [
      ['vcpus', 'cores', 'vCPUs'],
      ['memory', 'ram', 'MiB of memory'],
      ['instances', 'instances', 'servers'],
    ] as const
  ).flatMap(([name, key, what]): readonly Figure[] => [
    {
      name: `openstack_nova_limits_${name}_max`,
      help: `How many ${what} the project may have`,
      value: ({ limits }) => limits[key],
    },
    {
      name: `openstack_nova_limits_${name}_used`,
      help: `How many ${what} the project has`,
      value: ({ use }) => Number(use[key]),
    },
  ]),
  {
    name: 'openstack_cinder_limits_volume_max_gb',
    help: 'How many GiB of volumes and snapshots the project may have',
    value: ({ gigabytes }) => gigabytes.limit,
  },
  {
    name: 'openstack_cinder_limits_volume_used_gb',
    help: 'How many GiB of volumes and snapshots the project has',
    value: ({ gigabytes }) => gigabytes.used,
  },
]

interface Quota {
  readonly name: string
  readonly help: string
  /** What its type is called for what is used. */
  readonly inUse: 'in_use' | 'used'
  readonly state: (project: ProjectQuotas) => { readonly used: number; readonly limit: number }
}

const COMPUTE = [
  ['cores', 'vCPUs'],
  ['instances', 'Servers'],
  ['ram', 'MiB of memory'],
] as const
const NETWORK = [
  ['floatingip', 'Floating IPs'],
  ['network', 'Networks'],
  ['port', 'Ports'],
  ['rbac_policy', 'RBAC policies'],
  ['router', 'Routers'],
  ['security_group', 'Security groups'],
  ['security_group_rule', 'Rules of security groups'],
  ['subnet', 'Subnets'],
  ['subnetpool', 'Subnet pools'],
] as const

const QUOTAS: readonly Quota[] = [
  ...COMPUTE.map(
    ([key, what]): Quota => ({
      name: `openstack_nova_quota_${key}`,
      help: `${what} of the project`,
      inUse: 'in_use',
      state: ({ use, limits }) => ({ used: Number(use[key]), limit: limits[key] }),
    }),
  ),
  {
    name: 'openstack_nova_quota_server_groups',
    help: 'Server groups of the project',
    inUse: 'in_use',
    state: ({ serverGroups, limits }) => ({ used: serverGroups, limit: limits.server_groups }),
  },
  ...NETWORK.map(
    ([key, what]): Quota => ({
      name: `openstack_neutron_quota_${key}`,
      help: `${what} of the project`,
      inUse: 'used',
      state: ({ network }) => network[key],
    }),
  ),
]

/** Afterwards the registry has the quotas of projects, by the names and labels of openstack-exporter. */
export function quotaFigures(registry: Registry): (projects: readonly ProjectQuotas[]) => void {
  const labels = ['tenant', 'tenant_id']
  const limits = LIMITS.map(({ name, help, value }) => {
    return { set: sampledGauge(registry, { name, help, labels }), value }
  })
  const quotas = QUOTAS.map(({ name, help, ...quota }) => {
    return { set: sampledGauge(registry, { name, help, labels: ['type', ...labels] }), ...quota }
  })
  return (projects) => {
    for (const { set, value } of limits)
      set(projects.map((project) => [value(project), ...named(project)]))
    for (const { set, inUse, state } of quotas)
      set(
        projects.flatMap((project): readonly Sample[] => {
          const { used, limit } = state(project)
          const of = named(project)
          // Nothing is reserved: what is promised is used.
          return [
            [used, inUse, ...of],
            [0, 'reserved', ...of],
            [limit, 'limit', ...of],
          ]
        }),
      )
  }
}

function named({ use }: ProjectQuotas): readonly [name: string, id: string] {
  return [use.name, use.projectId]
}
