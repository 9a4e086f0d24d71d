import type { Namespace, PropertySchema, ResourceTypeAssociation } from './namespace.ts'

/** Of the definitions of the service, which are as old as the API that shows them. */
const SINCE = '2026-11-01T00:00:00.000Z'

const FLAVOR = 'OS::Nova::Flavor'
const IMAGE = 'OS::Glance::Image'
const SERVER = 'OS::Nova::Server'
const AGGREGATE = 'OS::Nova::Aggregate'

const text = (title: string, description: string, more: PropertySchema = {}): PropertySchema => ({
  title,
  description,
  type: 'string',
  ...more,
})
const oneOf = (title: string, description: string, ...values: readonly string[]) =>
  text(title, description, { enum: values })
const flag = (title: string, description: string): PropertySchema => ({
  title,
  description,
  type: 'boolean',
})
const whole = (title: string, description: string, minimum: number): PropertySchema => ({
  title,
  description,
  type: 'integer',
  minimum,
})
const DISK_LIMITS = Object.fromEntries(
  ['read', 'write', 'total'].flatMap((way) =>
    ['bytes', 'iops'].map((unit) => [
      `quota:disk_${way}_${unit}_sec`,
      whole(`Disk limit, ${way} ${unit}`, 'The most in a second of each disk; 0: no limit.', 0),
    ]),
  ),
)

/** The flavor's extra spec and the image's property of one meaning. */
const HARDWARE = [
  { name: FLAVOR, prefix: 'hw:' },
  { name: IMAGE, prefix: 'hw_' },
]

interface BuiltIn {
  readonly name: string
  readonly displayName: string
  readonly description: string
  readonly on: readonly Omit<ResourceTypeAssociation, 'createdAt' | 'updatedAt'>[]
  readonly properties: Readonly<Record<string, PropertySchema>>
}

/**
 * The properties that have an effect on servers here, under the names that Glance gives such definitions.
 * test/contract/metadefs.test.ts compares them with the rules for extra specs, the drivers, the scheduler and
 * docs/reference/libvirt.md.
 */
const DEFINED: readonly BuiltIn[] = [
  {
    name: 'OS::Compute::CPUPinning',
    displayName: 'CPU pinning',
    description: 'Whether a server shares the CPUs of its host. Heeded by libvirt hosts.',
    on: HARDWARE,
    properties: {
      cpu_policy: oneOf(
        'CPU policy',
        'With dedicated, each vCPU has one of the CPUs to itself that the host sets apart.',
        'shared',
        'dedicated',
      ),
    },
  },
  {
    name: 'OS::Compute::VirtCPUTopology',
    displayName: 'CPU topology',
    description:
      'How a guest sees its vCPUs. Sockets, cores and threads together make as many as the flavor has.',
    on: HARDWARE,
    properties: {
      cpu_sockets: whole('Sockets', 'Sockets that the guest sees.', 1),
      cpu_cores: whole('Cores', 'Cores in each socket.', 1),
      cpu_threads: whole('Threads', 'Threads of each core.', 1),
      cpu_max_sockets: whole('Most sockets', 'At most so many sockets are seen.', 1),
      cpu_max_cores: whole('Most cores', 'At most so many cores in each socket.', 1),
      cpu_max_threads: whole('Most threads', 'At most so many threads of each core.', 1),
    },
  },
  {
    name: 'OS::Compute::GuestMemoryBacking',
    displayName: 'Guest memory',
    description: 'Where the memory of a guest is. Heeded by libvirt hosts.',
    on: HARDWARE,
    properties: {
      mem_page_size: text(
        'Page size',
        'small, large, any, or a size such as 2MB. An image chooses only where its flavor says large or any.',
      ),
      numa_nodes: whole(
        'NUMA nodes',
        "So many memory nodes, each within another one of the host's.",
        1,
      ),
    },
  },
  {
    name: 'OS::Compute::Watchdog',
    displayName: 'Watchdog',
    description: 'What befalls a guest that no longer answers its watchdog.',
    on: HARDWARE,
    properties: {
      watchdog_action: oneOf(
        'Action',
        'Disabled: the guest has no watchdog.',
        'disabled',
        'none',
        'pause',
        'poweroff',
        'reset',
      ),
    },
  },
  {
    name: 'OS::Compute::Libvirt',
    displayName: 'Devices of a flavor',
    description: 'What libvirt hosts lend the guests of a flavor.',
    on: [{ name: FLAVOR }],
    properties: {
      'hw_rng:allowed': flag('Random numbers', 'Whether guests have a source of random numbers.'),
      'hw_rng:rate_bytes': whole('Random bytes', 'At most so many random bytes in each period.', 1),
      'hw_rng:rate_period': whole('Period', 'The period of random bytes, in milliseconds.', 1),
      'hw:boot_menu': flag('Boot menu', 'Whether the firmware offers a choice of boot devices.'),
      'hw:hide_hypervisor_id': flag(
        'Hidden hypervisor',
        'Whether KVM hides itself from the guest.',
      ),
      'hw:pmu': flag(
        'Performance counters',
        'Whether the guest has a performance monitoring unit.',
      ),
      ...DISK_LIMITS,
      'pci_passthrough:alias': text(
        'PCI devices',
        'Devices of the host by their aliases, and how many of each, such as gpu:2,nic:1.',
      ),
    },
  },
  {
    name: 'OS::Compute::LibvirtImage',
    displayName: 'Devices of an image',
    description: 'What guests of an image need of libvirt hosts.',
    on: [{ name: IMAGE }],
    properties: {
      hw_firmware_type: oneOf('Firmware', 'What the guest is started by.', 'bios', 'uefi'),
      hw_qemu_guest_agent: flag('Guest agent', "Whether QEMU's agent runs in the guest."),
      hw_rng_model: oneOf('Random number device', 'The model of the device.', 'virtio'),
      hw_time_hpet: flag('HPET', 'Whether the guest has a High Precision Event Timer.'),
      hw_rescue_device: oneOf(
        'Rescue device',
        'As what a rescue image is attached.',
        'disk',
        'cdrom',
      ),
      hw_rescue_bus: oneOf(
        'Rescue bus',
        'By which bus a rescue image is attached. No cdrom is on virtio.',
        'virtio',
        'ide',
        'sata',
        'scsi',
      ),
      os_command_line: text(
        'Kernel command line',
        'Of a guest that is started from a kernel image.',
      ),
    },
  },
  {
    name: 'OS::Glance::CommonImageProperties',
    displayName: 'Common image properties',
    description: 'The content of an image.',
    on: [{ name: IMAGE }],
    properties: {
      kernel_id: text('Kernel', 'The id of the image that the guest is started from.'),
      ramdisk_id: text('Ramdisk', 'The id of the image of its first root file system.'),
      os_type: oneOf('System', 'The kind of operating system.', 'linux', 'windows'),
      os_admin_user: text('Administrator', 'The user in the guest whose password is changed.'),
    },
  },
  {
    name: 'OS::Compute::Hypervisor',
    displayName: 'Hosts of an image',
    description: 'Which hosts can run servers of an image. Others are passed over.',
    on: [{ name: IMAGE }],
    properties: {
      hypervisor_type: text(
        'Hypervisor',
        'The kind of hosts, such as kvm, qemu, docker or baremetal.',
      ),
      img_hv_type: text('Hypervisor', 'The same by its newer name, which goes before the other.'),
      architecture: text('Architecture', 'Of the processor, such as x86_64 or aarch64.'),
      hw_architecture: text(
        'Architecture',
        'The same by its newer name, which goes before the other.',
      ),
      hypervisor_version_requires: text(
        'Version',
        'Conditions on the version of the hypervisor, such as >=6.0, <8.',
      ),
      img_hv_requested_version: text(
        'Version',
        'The same by its newer name, which goes before the other.',
      ),
    },
  },
  {
    name: 'OS::Compute::Docker',
    displayName: 'Containers',
    description: 'How Docker hosts run an image.',
    on: [{ name: IMAGE }],
    properties: {
      docker_image: text('Local image', "The name of an image that the host's engine has."),
      docker_command: text('Command', 'What the container runs, as a JSON list of words.'),
    },
  },
  {
    name: 'OS::Compute::SchedulerHints',
    displayName: 'Scheduler hints',
    description: 'Where a server is to be beside others.',
    on: [{ name: SERVER, propertiesTarget: 'scheduler_hints' }],
    properties: {
      group: text('Server group', 'The id of the server group that the server joins.'),
      same_host: text('Same host', 'The id of a server to share a host with.'),
      different_host: text('Different host', 'The id of a server to share no host with.'),
      target_cell: text('Cell', 'The name of the only cell, for administrators.'),
      policy: text('Placement policy', 'The name of a placement policy that users may choose.'),
      different_cell: text('Other cell', 'The name of a cell to avoid, for administrators.'),
      query: text('Query', 'About hosts, as JSON. Heeded by cells that run the JsonFilter.'),
      build_near_host_ip: text(
        'Near address',
        'The address of a host to be near. Heeded by cells that run the SimpleCIDRAffinityFilter.',
      ),
      cidr: text('Range', 'How near: a slash and the length of the prefix.'),
    },
  },
  {
    name: 'OS::Compute::AggregateTenancy',
    displayName: 'Hosts of projects',
    description: 'Whose servers the hosts of an aggregate take.',
    on: [{ name: AGGREGATE }],
    properties: {
      filter_tenant_id: text('Projects', 'Ids of the only projects, divided by commas.'),
    },
  },
  {
    name: 'OS::Compute::AggregateNumInstancesFilter',
    displayName: 'Servers per host',
    description:
      'How many servers the hosts of an aggregate take. Heeded by cells that run the NumInstancesFilter or the AggregateNumInstancesFilter.',
    on: [{ name: AGGREGATE }],
    properties: {
      max_instances_per_host: whole(
        'Servers per host',
        'A host that has so many takes no new one.',
        0,
      ),
    },
  },
  {
    name: 'OS::Compute::AggregateRatios',
    displayName: 'Overcommitment',
    description:
      'How much more than they have the hosts of an aggregate promise. A number above 0.',
    on: [{ name: AGGREGATE }],
    properties: {
      cpu_allocation_ratio: text('CPU ratio', 'So many vCPUs for each CPU.'),
      ram_allocation_ratio: text('Memory ratio', 'So many times the memory.'),
      disk_allocation_ratio: text('Disk ratio', 'So many times the disk.'),
    },
  },
  {
    name: 'OS::Compute::AggregateIoOpsFilter',
    displayName: 'Work per host',
    description:
      'How many servers of a host may be built or changed at once. Heeded by cells that run the IoOpsFilter or the AggregateIoOpsFilter.',
    on: [{ name: AGGREGATE }],
    properties: {
      max_io_ops_per_host: whole(
        'Work per host',
        'A host that has so many under way takes no new one.',
        0,
      ),
    },
  },
]

const dated = <T>(fields: T) => ({ ...fields, createdAt: SINCE, updatedAt: SINCE })

/** Definitions of the service itself: every user sees them, and no user changes them. */
export const BUILT_IN: readonly Namespace[] = DEFINED.map(({ on, properties, ...fields }) => ({
  ...fields,
  visibility: 'public',
  isProtected: true,
  owner: 'weir',
  resourceTypes: on.map(dated),
  properties: Object.entries(properties).map(([name, schema]) => dated({ name, schema })),
  objects: [],
  tags: [],
  createdAt: new Date(SINCE),
  updatedAt: new Date(SINCE),
}))
