<#
.SYNOPSIS
Installs opserve-server as a service of Windows that starts with the machine, and starts it.

.DESCRIPTION
Run it as an administrator, in the folder where the programs stay. Settings are those of opserve-server.toml beside
this script, logs go to logs\opserve-server.log beside it. The service has the account NT SERVICE\NAME, which may read this folder
and write its logs, and nothing else.

.PARAMETER Name
Name of the service.
.PARAMETER Config
The file with the settings.
.PARAMETER OpenPort
Opens the firewall for this TCP port, at which the settings have the server listen. Without it the firewall stays as it is.
#>
[CmdletBinding()]
param(
  [string]$Name = 'opserve',
  [string]$Config = (Join-Path $PSScriptRoot 'opserve-server.toml'),
  [int]$OpenPort = 0
)
$ErrorActionPreference = 'Stop'

$identity = [Security.Principal.WindowsPrincipal][Security.Principal.WindowsIdentity]::GetCurrent()
if (-not $identity.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) {
  throw 'Run this script as an administrator: services are of the whole machine.'
}
$server = Join-Path $PSScriptRoot 'opserve-server.exe'
$logs = Join-Path $PSScriptRoot 'logs'
foreach ($file in $server, $Config) {
  if (-not (Test-Path -LiteralPath $file -PathType Leaf)) { throw "There is no $file." }
}
if (Get-Service -Name $Name -ErrorAction SilentlyContinue) {
  throw "There is a service $Name already; remove-service.ps1 removes it."
}
# Settings that make no sense are found now, and not by a service that does not start. With 'Stop', the first line on standard
# error ends the script in Windows PowerShell 5.1.
$said = & { $ErrorActionPreference = 'Continue'; & $server --config $Config --print-config 2>&1 }
if ($LASTEXITCODE -ne 0) { throw "The settings make no sense: $said" }

New-Item -ItemType Directory -Force -Path $logs | Out-Null
$command = '"{0}" --config "{1}"' -f $server, $Config
New-Service -Name $Name -BinaryPathName $command -DisplayName 'opserve' -StartupType Automatic `
  -Description 'Runs operators on Direct3D 12 devices for programs that call it by gRPC' | Out-Null
try {
  $account = "NT SERVICE\$Name"
  $log = Join-Path $logs 'opserve-server.log'
  New-ItemProperty -Path "HKLM:\SYSTEM\CurrentControlSet\Services\$Name" -Name Environment -PropertyType MultiString `
    -Value "OPSERVE_SERVICE_LOG=$log" | Out-Null
  & sc.exe sidtype $Name unrestricted | Out-Null
  & sc.exe config $Name obj= $account | Out-Null
  if ($LASTEXITCODE -ne 0) { throw "The service cannot have the account $account." }
  & icacls.exe $PSScriptRoot /grant "${account}:(OI)(CI)RX" | Out-Null
  & icacls.exe $logs /grant "${account}:(OI)(CI)M" | Out-Null
  # After a failure it starts again, at once and then after half a minute; a day without one begins anew.
  & sc.exe failure $Name reset= 86400 actions= restart/1000/restart/30000/restart/30000 | Out-Null
  & sc.exe failureflag $Name 1 | Out-Null
  if ($OpenPort -gt 0) {
    New-NetFirewallRule -Name "opserve-$Name" -DisplayName "opserve ($Name)" -Direction Inbound -Action Allow `
      -Protocol TCP -LocalPort $OpenPort -Program $server | Out-Null
  }
  Start-Service -Name $Name
} catch {
  & (Join-Path $PSScriptRoot 'remove-service.ps1') -Name $Name
  throw
}
Get-Service -Name $Name
