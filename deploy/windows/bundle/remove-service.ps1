<#
.SYNOPSIS
Stops the service of opserve-server and removes it, with its rule in the firewall. Programs, settings and logs stay.

.PARAMETER Name
Name of the service.
#>
[CmdletBinding()]
param([string]$Name = 'opserve')
$ErrorActionPreference = 'Stop'

$service = Get-Service -Name $Name -ErrorAction SilentlyContinue
if (-not $service) { throw "There is no service $Name." }
if ($service.Status -ne 'Stopped') {
  # It answers what it has accepted first.
  Stop-Service -Name $Name
}
& sc.exe delete $Name | Out-Null
if ($LASTEXITCODE -ne 0) { throw "The service $Name cannot be removed; are you an administrator?" }
Get-NetFirewallRule -Name "opserve-$Name" -ErrorAction SilentlyContinue | Remove-NetFirewallRule
