import { Failure } from '#common/errors.ts'
import type { DomainSubject } from '../instance-record.ts'
import { type DiskLimits, diskLimits } from './disk-limits.ts'

const FIRMWARE = { bios: 'bios', uefi: 'efi' } as const
const WATCHDOG_ACTIONS = ['none', 'pause', 'poweroff', 'reset'] as const
/** As libvirt's own default. */
const RATE_PERIOD_MS = 1_000

/** What image and flavor say of a guest's devices (glance: useful image properties; nova: extra specs). */
export interface GuestOptions {
  readonly firmware: 'bios' | 'efi'
  /** The action for a guest that no longer serves its watchdog; null: it has no watchdog. */
  readonly watchdog: (typeof WATCHDOG_ACTIONS)[number] | null
  /** Null: the flavor allows no source of random numbers. */
  readonly rng: RandomRate | null
  readonly diskLimits: DiskLimits
  /** True: the firmware offers a choice of devices to boot from. */
  readonly hasBootMenu: boolean
  /** True: the guest is not shown that KVM runs it. */
  readonly isHypervisorHidden: boolean
  /** Whether the guest has performance counters; null: as the emulator has it. */
  readonly hasPmu: boolean | null
  /** Whether the guest has a High Precision Event Timer; null: as the emulator has it. */
  readonly hasHpet: boolean | null
  /** True where an agent in the guest can be talked to. */
  readonly hasAgent: boolean
  /** Whose password an administrator sets. */
  readonly adminUser: string
}

export interface RandomRate {
  /** At most so many in each period; null: as many as the guest takes. */
  readonly bytes: number | null
  readonly periodMs: number
}

/** Throws `invalid`, naming the property, for a value that no guest here can have. */
export function guestOptions({
  flavor: { extraSpecs },
  imageProperties: image,
}: DomainSubject): GuestOptions {
  return {
    firmware: oneOf(FIRMWARE, image, 'hw_firmware_type') ?? 'bios',
    watchdog: watchdogOf(image, extraSpecs),
    rng: rngOf(image, extraSpecs),
    diskLimits: diskLimits(extraSpecs),
    hasBootMenu: isYes(extraSpecs['hw:boot_menu'] ?? image['hw_boot_menu']),
    isHypervisorHidden: isYes(
      extraSpecs['hw:hide_hypervisor_id'] ?? image['img_hide_hypervisor_id'],
    ),
    hasPmu: flag(extraSpecs['hw:pmu'] ?? image['hw_pmu']),
    hasHpet: flag(image['hw_time_hpet']),
    hasAgent: !isNo(image['hw_qemu_guest_agent']),
    adminUser:
      image['os_admin_user'] ?? (image['os_type'] === 'windows' ? 'Administrator' : 'root'),
  }
}

type Properties = Readonly<Record<string, string>>

/** The flavor's word is the operator's, so it goes before the image's. */
function watchdogOf(image: Properties, flavor: Properties): GuestOptions['watchdog'] {
  const [from, name] =
    flavor['hw:watchdog_action'] === undefined
      ? ([image, 'hw_watchdog_action'] as const)
      : ([flavor, 'hw:watchdog_action'] as const)
  if ((from[name] ?? 'disabled') === 'disabled') return null
  const actions = Object.fromEntries(WATCHDOG_ACTIONS.map((action) => [action, action] as const))
  return oneOf(actions, from, name) ?? null
}

function rngOf(image: Properties, flavor: Properties): RandomRate | null {
  oneOf({ virtio: 'virtio' }, image, 'hw_rng_model')
  if (isNo(flavor['hw_rng:allowed'])) return null
  const [bytes, periodMs] = ['hw_rng:rate_bytes', 'hw_rng:rate_period'].map((name) =>
    positive(flavor, name),
  )
  return { bytes: bytes ?? null, periodMs: periodMs ?? RATE_PERIOD_MS }
}

function oneOf<T>(
  values: Readonly<Record<string, T>>,
  from: Properties,
  name: string,
): T | undefined {
  const asked = from[name]
  if (asked === undefined) return undefined
  if (Object.hasOwn(values, asked)) return values[asked]
  throw new Failure(
    'invalid',
    `${name} is ${asked}; a guest here can have ${Object.keys(values).join(', ')}.`,
  )
}

function positive(from: Properties, name: string): number | undefined {
  const asked = from[name]
  if (asked === undefined) return undefined
  if (/^[1-9]\d{0,8}$/.test(asked)) return Number(asked)
  throw new Failure('invalid', `${name} is ${asked}; it must be a positive number.`)
}

function flag(text: string | undefined): boolean | null {
  return text === undefined ? null : isYes(text)
}

/** The values that OpenStack reads as true. */
function isYes(text: string | undefined): boolean {
  return ['1', 't', 'true', 'on', 'y', 'yes'].includes(text?.toLowerCase() ?? '')
}

/** The values that OpenStack reads as false. */
function isNo(text: string | undefined): boolean {
  return ['0', 'f', 'false', 'off', 'n', 'no'].includes(text?.toLowerCase() ?? '')
}
