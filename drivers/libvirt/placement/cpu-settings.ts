import { Failure } from '#common/errors.ts'
import type { VirtType } from '../domains/domain-xml.ts'
import { element, type XmlElement } from '../xml/element.ts'
import { attributeAt, elementsAt, parseXml, textAt } from '../xml/parse.ts'

/** What operators say of a host's CPUs. */
export interface CpuSettings {
  /** `host-model`, `host-passthrough`, or one of libvirt's names; undefined: the host's model where guests run on it. */
  readonly model: string | undefined
  /** CPUs that only guests run on which ask for their own. */
  readonly dedicated: readonly number[]
}

const MODES = ['host-model', 'host-passthrough', 'maximum']

/** The CPU a guest is shown; undefined: what its emulator has. */
export function cpuElement(
  model: string | undefined,
  virtType: VirtType,
  seen: readonly XmlElement[],
): XmlElement | undefined {
  const named = model ?? (virtType === 'kvm' ? 'host-model' : undefined)
  if (named === undefined) return seen.length === 0 ? undefined : element('cpu', {}, ...seen)
  if (MODES.includes(named)) return element('cpu', { mode: named }, ...seen)
  const own = element('model', { fallback: 'forbid' }, named)
  return element('cpu', { mode: 'custom', match: 'exact' }, own, ...seen)
}

/** Throws `invalid` when the host, by its own account, can show guests no such CPU. */
export function refuseUnknownModel(model: string, capabilities: string): void {
  const cpu = elementsAt(parseXml(capabilities), 'domainCapabilities', 'cpu')
  const modes = cpu.flatMap((each) => elementsAt(each, 'mode'))
  const isSupported = (name: string) =>
    modes.some(
      (mode) => attributeAt(mode, 'name') === name && attributeAt(mode, 'supported') === 'yes',
    )
  const models = modes
    .filter((mode) => attributeAt(mode, 'name') === 'custom')
    .flatMap((mode) => elementsAt(mode, 'model'))
    .filter((each) => attributeAt(each, 'usable') === 'yes')
    .map((each) => textAt(each))
  if (MODES.includes(model) ? isSupported(model) : models.includes(model)) return
  throw new Failure('invalid', `This host cannot show guests the CPU ${model} (cpu_model).`)
}

/** Reads `2-5,8`. Throws `invalid`. */
export function cpuList(text: string): readonly number[] {
  return text.split(',').flatMap((part) => {
    const [, first, last = first] = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(part.trim()) ?? []
    const [from, to] = [Number(first), Number(last)]
    if (first === undefined || to < from)
      throw new Failure(
        'invalid',
        `dedicated_cpus is ${text}; it must be numbers and ranges, such as 2-5,8.`,
      )
    return Array.from({ length: to - from + 1 }, (_, index) => from + index)
  })
}
